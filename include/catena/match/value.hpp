// What every node of a chain must be, and the operands that a row step reads.
#pragma once

#include "catena/kernel/args.hpp"
#include "catena/match/index.hpp"
#include "catena/match/reader.hpp"
#include "catena/match/reason.hpp"

namespace catena {

/// f32 rows that a row step reads: all of a tensor, or the part of every row that starts at
/// `offset` bytes.
struct row_operand {
    std::int32_t tensor = no_tensor;
    std::int64_t offset = 0;
    row_strides at;
};

inline row_strides strides_of(const tensor& t) { return {t.nb[1], t.nb[2], t.nb[3]}; }

/// Of as many rows in f32 that lie without gaps.
inline row_strides packed(const tensor& rows) {
    const std::int64_t nb1 = rows.ne[0] * 4, nb2 = nb1 * rows.ne[1];
    return {nb1, nb2, nb2 * rows.ne[2]};
}

/// As many rows, in the same dimensions.
inline bool same_rows(const tensor& a, const tensor& b) {
    return a.ne[1] == b.ne[1] && a.ne[2] == b.ne[2] && a.ne[3] == b.ne[3];
}
inline bool same_shape(const tensor& a, const tensor& b) {
    return a.ne[0] == b.ne[0] && same_rows(a, b);
}

/// A node that a chain may take over: `sources` of them, an f32 result of its own.
inline finding node_fits(const graph_index& g, std::int32_t position, int sources) {
    const tensor& t = g.view.node(position);
    for (int s = 0; s < sources; ++s)
        if (t.src[s] == no_tensor) return {position, reason::missing_source};
    if (has_more_sources(t, sources)) return {position, reason::extra_source};
    if ((t.flags & flag_compute) == 0) return {position, reason::not_computed};
    if (elements(t) == 0) return {position, reason::no_elements};
    if (t.type != format::f32) return {position, reason::not_f32};
    if (!t.reachable) return {position, reason::unreachable};
    if (t.view_src != no_tensor || g.written_in_place(g.view.nodes[position]))
        return {position, reason::written_in_place};
    return {};
}

/// An operand of the node at `position`: f32 rows that a kernel can read.
inline finding rows_fit(const graph_index& g, std::int32_t position, std::int32_t tensor_index) {
    const tensor& t = g.view.at(tensor_index);
    if (const reason r = plain_rows(t); r != reason::none) return {position, r, t.nb[0], 4};
    return {};
}

}  // namespace catena
