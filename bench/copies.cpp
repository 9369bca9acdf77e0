#include "copies.hpp"

#include "catena/format/random.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace catena::bench {
namespace {

/// Kernels of engines read a little beyond a row whose length is no multiple of 512.
constexpr std::int64_t slack = 1024;

std::int64_t room(const tensor& t) { return (extent_bytes(t) + slack + 255) / 256 * 256; }

/// Has it memory of its own?
bool owns(const small_graph& g, std::size_t i) { return g.tensors[i].view_src == no_tensor; }

struct rooms {
    std::int64_t weights = 0, shared = 0;
};

rooms rooms_of(const small_graph& g) {
    rooms r;
    for (std::size_t i = 0; i < g.tensors.size(); ++i)
        if (owns(g, i)) (g.tensors[i].weight ? r.weights : r.shared) += room(g.tensors[i]);
    return r;
}

/// How many ids there are to choose from: the fewest experts of the matmuls that read them.
std::int64_t experts_of(const small_graph& g) {
    std::int64_t experts = 0;
    for (const tensor& t : g.tensors)
        if (t.kind == op::mul_mat_id) {
            const std::int64_t n = g.tensors[static_cast<std::size_t>(t.src[0])].ne[2];
            experts = experts == 0 ? n : std::min(experts, n);
        }
    return std::max<std::int64_t>(experts, 1);
}

std::vector<std::byte> ids(const tensor& t, std::int64_t experts, std::uint64_t seed) {
    std::vector<std::byte> out(static_cast<std::size_t>(extent_bytes(t)));
    std::vector<std::int32_t> deck(static_cast<std::size_t>(experts));
    auto* const to = reinterpret_cast<std::int32_t*>(out.data());
    for (std::size_t i = 0; i < out.size() / 4; ++i) {
        const std::size_t place = i % static_cast<std::size_t>(t.ne[0]) % deck.size();
        if (place == 0) {
            std::iota(deck.begin(), deck.end(), 0);
            for (std::size_t n = deck.size(); n > 1; --n)
                std::swap(deck[n - 1], deck[random_bits(seed, i + n) % n]);
        }
        to[i] = deck[place];
    }
    return out;
}

/// Data of a leaf, or as much as is written again and again.
std::vector<std::byte> pattern(const tensor& t, std::int64_t experts, std::uint64_t seed) {
    if (t.type == format::i32) return ids(t, experts, seed);
    const std::int64_t block = info(t.type).block_bytes;
    const std::int64_t bytes = std::min(extent_bytes(t), std::int64_t{1} << 20) / block * block;
    std::vector<std::byte> out(static_cast<std::size_t>(bytes));
    if (t.type != format::f32) {
        fill_random_blocks(t.type, seed, 0, out);
        return out;
    }
    const std::span values(reinterpret_cast<float*>(out.data()), out.size() / sizeof(float));
    fill_random_values(seed, 0, values);
    const bool norm_weight = t.weight && t.ne[1] == 1;
    for (float& v : values)
        if (t.weight) v = norm_weight ? 1 + v / 4 : v / 50;
    return out;
}

void fill(const tensor& t, std::int64_t experts, std::uint64_t seed, const memory& where) {
    const std::vector<std::byte> data = pattern(t, experts, seed);
    auto* const to = static_cast<std::byte*>(t.data);
    const auto bytes = static_cast<std::size_t>(extent_bytes(t));
    std::size_t at = std::min(data.size(), bytes);
    where.write(to, std::span(data).first(at));
    while (at < bytes) {  // twice as much each time, or the pattern once more
        const std::size_t more = std::min(where.copy ? at : data.size(), bytes - at);
        if (where.copy)
            where.copy(to + at, to, more);
        else
            where.write(to + at, std::span(data).first(more));
        at += more;
    }
}

}  // namespace

std::int64_t bytes_of_copies(const small_graph& g, int copies) {
    const rooms r = rooms_of(g);
    return r.shared + r.weights * copies;
}

int copies_for(const small_graph& g, int columns, double cache_bytes, std::int64_t memory_bytes) {
    const rooms r = rooms_of(g);
    const double wanted = std::ceil(4 * cache_bytes / least_bytes(g));
    const std::int64_t fit =
        r.weights == 0 ? 256 : (memory_bytes - r.shared) / std::max<std::int64_t>(r.weights, 1);
    const double least = columns > 64 ? 4 : 20;
    const auto copies = std::min(static_cast<std::int64_t>(std::clamp(wanted, least, 256.0)), fit);
    return copies < 2 ? 0 : static_cast<int>(copies);
}

std::vector<small_graph> place_copies(const small_graph& g, int copies, const memory& where) {
    std::vector<small_graph> out(static_cast<std::size_t>(copies), g);
    const std::int64_t experts = experts_of(g);
    const rooms r = rooms_of(g);
    std::int64_t of_shared = 0, of_weights = 0;
    for (std::size_t i = 0; i < g.tensors.size(); ++i) {
        const tensor& t = g.tensors[i];
        if (!owns(g, i)) continue;
        std::int64_t& at = t.weight ? of_weights : of_shared;
        for (int c = 0; c < copies; ++c) {
            tensor& placed = out[static_cast<std::size_t>(c)].tensors[i];
            placed.data = where.base + at + (t.weight ? r.shared + c * r.weights : 0);
            const bool filled = where.write && t.kind == op::none && (t.weight || c == 0);
            if (filled) fill(placed, experts, i + 1, where);
        }
        at += room(t);
    }
    for (small_graph& copy : out)
        for (std::size_t i = 0; i < copy.tensors.size(); ++i)
            if (const std::int32_t of = copy.tensors[i].view_src; of != no_tensor)
                copy.tensors[i].data =
                    static_cast<std::byte*>(copy.tensors[static_cast<std::size_t>(of)].data) +
                    copy.view_offset[i];
    return out;
}

small_graph placed(const small_graph& g) {
    alignas(256) static std::byte base[256];
    return place_copies(g, 1, {base, bytes_of_copies(g, 1)}).front();
}

}  // namespace catena::bench
