// Who shares memory with whom: by byte ranges where the engine has allocated, by lifetimes where
// not.
#pragma once

#include "catena/match/detail/index.hpp"

#include <cstdint>

namespace CATENA_NAMESPACE {

namespace detail {

/// May a, in bytes `x`, and b, in bytes `y`, share one, where one of them has no buffer? By
/// address, or by lifetime.
inline bool may_meet_unplaced(const graph_index& g, std::int32_t a, const extent& x, std::int32_t b,
                              const extent& y) {
    if (x.begin == x.end || y.begin == y.end) return false;
    const auto address = [&g](std::int32_t t) {
        return reinterpret_cast<std::uintptr_t>(g.view.at(t).data);
    };
    if (address(a) != 0 && address(b) != 0)
        return address(a) < address(b) + (y.end - y.begin) &&
               address(b) < address(a) + (x.end - x.begin);
    const std::int32_t first = g.root(a);
    const std::int32_t second = g.root(b);
    if (first == second) return true;
    if (g.constant(first) || g.constant(second)) return false;
    return !(g.live_from(first) < g.live_until(second) &&
             g.live_from(second) < g.live_until(first));
}

/// May bytes `x` of tensor a and bytes `y` of tensor b meet?
[[gnu::always_inline]] inline bool may_meet(const graph_index& g, std::int32_t a, const extent& x,
                                            std::int32_t b, const extent& y) {
    if (x.buffer == y.buffer && x.buffer != no_buffer) return x.begin < y.end && y.begin < x.end;
    return (x.buffer == no_buffer || y.buffer == no_buffer) && may_meet_unplaced(g, a, x, b, y);
}

}  // namespace detail

/// May tensors a and b share a byte? Exact for allocated tensors, by buffer and offset or by
/// address. Before allocation two values whose lifetimes overlap cannot share; all others might.
[[gnu::always_inline]] inline bool may_meet(const graph_index& g, std::int32_t a, std::int32_t b) {
    return detail::may_meet(g, a, g.bytes(a), b, g.bytes(b));
}

/// Do a and b put every element at the same address? Then a thread that reads it before it writes
/// it is safe.
inline bool same_place(const tensor& a, const tensor& b) {
    const bool placed = a.buffer != no_buffer && a.buffer == b.buffer && a.offset == b.offset;
    const bool addressed = a.data != nullptr && a.data == b.data;
    if (!(placed || addressed) || a.type != b.type) return false;
    for (int d = 0; d < 4; ++d)
        if (a.ne[d] != b.ne[d] || (a.ne[d] > 1 && a.nb[d] != b.nb[d])) return false;
    return true;
}

/// Is `a`, parts of so many bytes without gaps, some of those of `b`?
inline bool whole_parts(const tensor& a, const tensor& b, std::int64_t part_bytes) {
    const auto at = [](const tensor& t) {
        return t.data != nullptr ? reinterpret_cast<std::uintptr_t>(t.data) : t.offset;
    };
    const bool placed =
        (a.buffer != no_buffer && a.buffer == b.buffer) || (a.data != nullptr && b.data != nullptr);
    const auto bytes = static_cast<std::uint64_t>(part_bytes);
    const auto all = static_cast<std::uint64_t>(extent_bytes(b));
    const std::uint64_t before = at(a) - at(b);  // wraps where a lies below
    return placed && contiguous(a) && contiguous(b) && all % bytes == 0 && before % bytes == 0 &&
           before < all && static_cast<std::uint64_t>(extent_bytes(a)) <= all - before;
}

}  // namespace CATENA_NAMESPACE
