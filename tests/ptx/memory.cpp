#include "memory.hpp"

#include <algorithm>
#include <cstring>

namespace ptx {

bool global_range::was_written(const std::byte* p, std::size_t bytes) const {
    if (written.empty()) return true;
    const auto at = p - first;
    return std::all_of(written.begin() + at,
                       written.begin() + at + static_cast<std::ptrdiff_t>(bytes),
                       [](bool w) { return w; });
}

void global_range::write(const std::byte* p, std::size_t bytes) {
    if (written.empty()) return;
    const auto at = p - first;
    std::fill_n(written.begin() + at, bytes, true);
}

/// Words are those of the address.
site global_range::of(const std::byte* p, std::size_t bytes) {
    const auto start = reinterpret_cast<std::uintptr_t>(first) % 4;
    return {past, static_cast<std::size_t>(p - first) + start, bytes, p};
}

void global_memory::add(const std::string& name, void* at, std::size_t bytes, content kind) {
    auto* first = static_cast<std::byte*>(at);
    global_range r{name, first, first + bytes, kind};
    if (kind == content::uninitialized) r.written.resize(bytes);
    ranges.push_back(std::move(r));
}

int global_memory::find(const std::byte* p, std::size_t bytes, std::size_t guess) const {
    if (guess < ranges.size() && ranges[guess].has(p, bytes)) return static_cast<int>(guess);
    for (std::size_t i = 0; i < ranges.size(); ++i)
        if (ranges[i].has(p, bytes)) return static_cast<int>(i);
    return -1;
}

std::string global_memory::place(const std::byte* p) const {
    const global_range* nearest = nullptr;
    std::ptrdiff_t distance = 0;
    for (const global_range& r : ranges) {
        const std::ptrdiff_t d = p < r.first ? r.first - p : p >= r.last ? p - r.last + 1 : 0;
        if (nearest == nullptr || d < distance) nearest = &r, distance = d;
    }
    if (p == nullptr) return "null";
    if (nearest == nullptr || distance > (1 << 20)) return "no memory of the launch";
    return nearest->name + "[" + std::to_string(p - nearest->first) + "] (it has " +
           std::to_string(nearest->last - nearest->first) + " bytes)";
}

void shared_memory::set(std::size_t at, std::size_t count, byte_state s) {
    std::memset(states.data() + at, static_cast<int>(s), count);
}

std::int64_t shared_memory::first_not(std::size_t at, std::size_t count, byte_state wanted) const {
    for (std::size_t i = 0; i < count; ++i)
        if (states[at + i] != wanted) return static_cast<std::int64_t>(at + i);
    return -1;
}

const char* name(byte_state s) {
    return s == byte_state::unwritten    ? "nobody has written"
           : s == byte_state::on_its_way ? "are on their way: the copy was not waited for"
           : s == byte_state::barrier    ? "are an mbarrier's"
                                         : "are written";
}

}  // namespace ptx
