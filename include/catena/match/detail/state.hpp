// What finding a launch that keeps the state of a sequence asks of the nodes around it.
#pragma once

#include "catena/match/detail/value.hpp"

#include <cstdint>
#include <cstring>

namespace CATENA_NAMESPACE {

/// The bytes from the first of a value to the first of a name, as the VIEWs between them say; -1:
/// they do not say it, or the places of the two contradict them.
inline std::int64_t offset_in(const graph_index& g, std::int32_t name, std::int32_t value) {
    const extent &first = g.bytes(value), &own = g.bytes(name);
    std::int64_t all = 0;
    for (std::int32_t hops = 0; name != value; ++hops) {
        const tensor& t = g.view.at(name);
        const bool renames = t.kind == op::reshape || t.kind == op::view || t.kind == op::permute;
        if (!renames || t.src[0] == no_tensor || hops > g.view.tensor_count) return -1;
        std::int64_t offset = 0;
        if (t.kind == op::view) std::memcpy(&offset, t.params, sizeof offset);
        all += offset;
        name = t.src[0];
    }
    const bool placed = first.begin != 0 || first.buffer != no_buffer;
    const bool alike = !placed || (own.buffer == first.buffer &&
                                   own.begin - first.begin == static_cast<std::uint64_t>(all));
    return alike ? all : -1;
}

/// Are these numbers of states, one for each of so many sequences?
inline bool numbers_states(const tensor& ids, std::int64_t sequences) {
    return ids.type == format::i32 && ids.reachable && contiguous(ids) &&
           elements(ids) == sequences && words_aligned(ids);
}

/// The node of some op that makes a value for another node alone, or -1.
inline std::int32_t made_for(const graph_index& g, std::int32_t value, op kind, int sources,
                             std::int32_t reader) {
    const std::int32_t behind = value_behind(g.view, value), made = g.position(behind);
    const bool fits = made >= 0 && g.kind(made) == kind && contiguous(g.view.node(made)) &&
                      g.only_reader(behind).node == reader && !node_fits(g, made, sources).found();
    return fits ? made : -1;
}

/// Does a CPY take all of `count` numbers to their place?
inline bool takes_states(const graph_index& g, std::int32_t node, std::int64_t count) {
    const tensor &to = g.view.node(node), &from = g.view.at(to.src[0]);
    return plain_rows(from) == reason::none && contiguous(from) && elements(from) == count &&
           (to.flags & flag_compute) != 0 && to.type == format::f32 && to.reachable &&
           contiguous(to) && elements(to) == count && words_aligned(to);
}

/// Rewrite CPY(VIEW(result), next_states) to a store of the states: `count` numbers behind the
/// first `end` bytes of the result of a node. `keep`: the CPY, or -1. False: others read states,
/// too.
inline bool kept_behind(const graph_index& g, std::int32_t node, std::int64_t end,
                        std::int64_t count, std::int32_t& keep) {
    const std::int32_t result = g.view.nodes[node];
    if (g.read_outside(result) || g.output(result)) return false;
    for (const use& u : g.readers(result)) {
        const std::int32_t name = g.view.node(u.node).src[u.slot];
        const std::int64_t offset = offset_in(g, name, result);
        if (offset >= 0 && offset + extent_bytes(g.view.at(name)) <= end) continue;
        if (keep >= 0 || g.kind(u.node) != op::cpy || u.slot != 0 || offset != end ||
            !takes_states(g, u.node, count))
            return false;
        keep = u.node;
    }
    return true;
}

/// The bytes from one row to the next, of `count` rows that are the dimensions from `first` on; -1:
/// they are others, or not equally far apart. `alone`: the bytes if there is one.
inline std::int64_t distance_of_rows(const tensor& t, int first, std::int64_t count,
                                     std::int64_t alone) {
    std::int64_t rows = 1, bytes = alone;
    for (int d = first; d < 4; rows *= t.ne[d++]) {
        if (t.ne[d] == 1) continue;
        if (rows == 1) bytes = t.nb[d];
        if (t.nb[d] != rows * bytes) return -1;
    }
    return rows == count ? bytes : -1;
}

}  // namespace CATENA_NAMESPACE
