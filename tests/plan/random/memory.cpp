#include "memory.hpp"

#include "catena/format/codec.hpp"

#include <cmath>
#include <memory>
#include <span>
#include <tuple>

namespace catena_test {

using catena::format;

void machine::add(const void* first, std::int64_t bytes, region_kind kind) {
    const auto* at = static_cast<const std::byte*>(first);
    regions_[at] = {at + bytes, kind};
}

const machine::region* machine::find(const void* at, std::int64_t bytes) const {
    const auto* first = static_cast<const std::byte*>(at);
    auto after = regions_.upper_bound(first);
    if (after == regions_.begin()) return nullptr;
    const region& r = std::prev(after)->second;
    return first + bytes <= r.last ? &r : nullptr;
}

void machine::reads(const char* what, const void* at, std::int64_t bytes, bool early) {
    if (bytes == 0) return;
    const region* r = find(at, bytes);
    if (r == nullptr)
        blame(std::string(what) + " is read outside of every tensor");
    else if (r->kind == region_kind::host)
        blame(std::string(what) + " is read where no kernel can read");
    else if (early && r->kind != region_kind::constant)
        blame(std::string(what) + " is read early, and is not constant");
}

void machine::writes(const char* what, const void* at, std::int64_t bytes) {
    if (bytes == 0) return;
    const region* r = find(at, bytes);
    if (r == nullptr || r->kind != region_kind::written)
        blame(std::string(what) + " is written where no step may write");
}

float noise(std::uint64_t seed, std::uint64_t index) {
    std::uint64_t z = (seed * 0x9e3779b97f4a7c15u + index + 1) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 31) * 0x94d049bb133111ebu;
    z ^= z >> 29;
    return static_cast<float>(z >> 40) / 8388608.0f - 1.0f;
}

namespace {

struct pool {
    using key = std::tuple<format, std::int64_t, std::int64_t, int, bool>;
    std::map<key, std::unique_ptr<weight_pool::matrix>> matrices;
    std::map<const std::byte*, const weight_pool::matrix*> by_address;
};

pool& the_pool() {
    static pool p;
    return p;
}

}  // namespace

const weight_pool::matrix& weight_pool::get(format type, std::int64_t k, std::int64_t rows,
                                            int variant, bool around_one) {
    auto& slot = the_pool().matrices[{type, k, rows, variant, around_one}];
    if (slot != nullptr) return *slot;
    slot = std::make_unique<matrix>();
    slot->type = type;
    slot->k = k;
    const auto count = static_cast<std::size_t>(k * rows);
    slot->values.resize(count);
    const auto seed = static_cast<std::uint64_t>(((k * 4099 + rows) * 8 + variant) * 64) +
                      static_cast<std::uint64_t>(type);
    const float size = std::sqrt(3.0f / static_cast<float>(k));
    for (std::size_t i = 0; i < count; ++i)
        slot->values[i] = around_one ? 1 + noise(seed, i) / 2 : size * noise(seed, i);
    for (std::int64_t r = 0; r < rows; ++r) {
        const std::span<float> row(slot->values.data() + r * k, static_cast<std::size_t>(k));
        const std::vector<std::byte> bytes = catena::encode_row(type, row);
        catena::decode_row<float>(type, bytes, row);
        slot->bytes.insert(slot->bytes.end(), bytes.begin(), bytes.end());
    }
    the_pool().by_address[slot->bytes.data()] = slot.get();
    return *slot;
}

const float* weight_pool::decoded(format type, const void* address, std::int64_t k,
                                  std::vector<float>& scratch) {
    const auto* at = static_cast<const std::byte*>(address);
    if (type == format::f32 && reinterpret_cast<std::uintptr_t>(at) % 4 == 0)
        return static_cast<const float*>(address);
    const auto after = the_pool().by_address.upper_bound(at);
    if (after != the_pool().by_address.begin()) {
        const matrix& m = *std::prev(after)->second;
        const std::int64_t offset = at - m.bytes.data();
        const bool inside = offset < std::ssize(m.bytes) && m.type == type && m.k == k;
        if (inside && offset % catena::row_bytes(type, k) == 0)
            return m.values.data() + offset / catena::row_bytes(type, k) * k;
    }
    scratch.resize(static_cast<std::size_t>(k));
    const auto bytes = static_cast<std::size_t>(catena::row_bytes(type, k));
    catena::decode_row<float>(type, {at, bytes}, scratch);
    return scratch.data();
}

}  // namespace catena_test
