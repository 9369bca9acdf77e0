// Who shares memory with whom: by byte ranges where the engine has allocated, by lifetimes where
// not.
#pragma once

#include "catena/match/index.hpp"

#include <cstdint>

namespace catena {

/// May tensors a and b share a byte? Exact for allocated tensors,
/// by buffer and offset or by address. Before allocation two values
/// whose lifetimes overlap cannot share; all others might.
inline bool may_meet(const graph_index& g, std::int32_t a, std::int32_t b) {
    const tensor& s = g.view.at(a);
    const tensor& t = g.view.at(b);
    if (s.buffer != no_buffer && t.buffer != no_buffer) {
        if (s.buffer != t.buffer) return false;
        const auto end = [](const tensor& x) {
            return x.offset + static_cast<std::uint64_t>(extent_bytes(x));
        };
        return s.offset < end(t) && t.offset < end(s);
    }
    if (elements(s) == 0 || elements(t) == 0) return false;
    if (s.data != nullptr && t.data != nullptr) {
        const auto at = [](const tensor& x) { return reinterpret_cast<std::uintptr_t>(x.data); };
        const auto end = [&at](const tensor& x) {
            return at(x) + static_cast<std::uintptr_t>(extent_bytes(x));
        };
        return at(s) < end(t) && at(t) < end(s);
    }
    const std::int32_t first = g.root(a);
    const std::int32_t second = g.root(b);
    if (first == second) return true;
    if (g.constant(first) || g.constant(second)) return false;
    return !(g.live_from(first) < g.live_until(second) &&
             g.live_from(second) < g.live_until(first));
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

/// The largest power of two up to 16 that divides an address, or the offset where there is none
/// yet.
inline int base_alignment(const tensor& t) {
    const std::uint64_t at = t.data != nullptr       ? reinterpret_cast<std::uintptr_t>(t.data)
                             : t.buffer != no_buffer ? t.offset
                                                     : 0;
    const std::uint64_t bits = at | 16;
    return static_cast<int>(bits & (~bits + 1));
}

/// The same for every row of a tensor.
inline int row_alignment(const tensor& t) {
    std::uint64_t bits = static_cast<std::uint64_t>(base_alignment(t));
    for (int d = 1; d < 4; ++d)
        if (t.ne[d] > 1) bits |= static_cast<std::uint64_t>(t.nb[d]);
    return static_cast<int>(bits & (~bits + 1));
}

}  // namespace catena
