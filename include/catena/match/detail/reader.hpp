// How a node reads an activation: as a matmul that a group could serve, of quantized or of float
// weights, or as another node that needs f32, with the reason.
#pragma once

#include "catena/format/rows.hpp"
#include "catena/match/detail/index.hpp"
#include "catena/match/detail/weight_scale.hpp"
#include "catena/match/pattern.hpp"
#include "catena/match/reason.hpp"

#include <cstdint>
#include <limits>

namespace CATENA_NAMESPACE {

/// Kernels number rows, columns and blocks of 32 values in 32 bits. A matvec that adds up a token's
/// slots numbers the pairs of a row and a slot in 32 bits.
inline constexpr std::int64_t max_values = std::numeric_limits<std::int32_t>::max();
inline constexpr std::int64_t max_rows = 1 << 25;

/// Readers of one value that are weighed together for the launches that hold max_members of them.
/// The limit keeps the time of planning in proportion to the number of readers.
inline constexpr std::int32_t readers_together = 4 * max_members;

/// One edge that reads an activation.
struct reader {
    std::int32_t node = -1;  ///< position
    std::int32_t slot = 0;
    bool expert = false;
    format weight = format::unknown;        ///< format of the matrix, if a group may serve it
    skeleton served_by = skeleton::matvec;  ///< skeleton that the planner chose
    format layout = format::unknown;        ///< layout that the planner chose for the activation
    bool as_f32 = false;  ///< the reader multiplies float weights with the f32 value itself, unless
                          ///< the planner gives it a rounded copy
    bool dealt = false;   ///< a launch has the reader
    obstacle left;        ///< reason why no group may serve it, or none

    bool servable() const { return !left.found(); }
    bool float_weight() const { return as_f32; }

    /// Does it read a quantized copy of the value?
    bool quantized() const { return servable() && !as_f32; }
};

/// f32 with neighbors next to each other, at multiples of 4 bytes: what a kernel reads and writes
/// row by row.
inline reason plain_rows(const tensor& t) {
    if (t.type != format::f32) return reason::not_f32;
    if (!t.reachable) return reason::unreachable;
    if (t.nb[0] != 4) return reason::not_unit_stride;
    return words_aligned(t) ? reason::none : reason::unaligned;
}

/// As plain_rows, for tensor `index`, which the node at `position` reads. The obstacle has the
/// numbers of the sentence.
inline obstacle plain_rows_at(const graph_view& view, std::int32_t index,
                              std::int32_t position = -1) {
    const reason r = plain_rows(view.at(index));
    return {position, r, r == reason::unaligned ? index : view.at(index).nb[0], 4};
}

namespace detail {

/// Is a weight [k, rows] or, of several matrices, [k, rows, matrices], and without gaps?
inline obstacle check_weight(const graph_view& view, std::int32_t weight, format_set formats) {
    const tensor& w = view.at(weight);
    const bool plain = info(w.type).role != format_role::weight;
    if (plain && !(is_float(w.type) && formats.has(w.type))) return {-1, reason::plain_weight};
    if (elements(w) == 0) return {-1, reason::no_elements};
    if (!is_weight(view, weight)) return {-1, reason::weight_not_leaf};
    if (!w.reachable) return {-1, reason::unreachable};
    if (!formats.has(w.type)) return {-1, reason::format_not_in_chain};
    if (w.ne[3] != 1) return {-1, reason::weight_batched};
    if (!contiguous(w)) return {-1, reason::weight_strided};
    for (const std::int64_t n : {w.ne[0], w.ne[2]})
        if (n > max_values) return {-1, reason::too_large, n, max_values};
    if (w.ne[1] > max_rows) return {-1, reason::too_large, w.ne[1], max_rows};
    return {};
}

/// Is an f32 activation fit to be read where it lies? Its columns are equally far apart, at
/// multiples of 16 bytes.
inline obstacle check_columns(const graph_view& view, std::int32_t index) {
    if (const obstacle f = plain_rows_at(view, index); f.found()) return f;
    const tensor& x = view.at(index);
    std::int64_t next = x.nb[1];
    for (int d = 2; d < 4; ++d) {
        next *= x.ne[d - 1];
        if (x.ne[d] != 1 && x.nb[d] != next) return {-1, reason::activation_strided};
    }
    return {-1, x.nb[1] % 16 == 0 ? reason::none : reason::activation_unaligned};
}

/// What op_params ask of a matmul, by the ranks of ggml.h (GGML_PREC: 0 anything, 10 f32, 15 bf16,
/// 20 f16, 30 8 bits, 40 4 bits). Word 0 is the least accumulator, and every row sums in f32. Word
/// 3 is the least format that the activation may be converted to: q8_1, or f32 for float weights.
/// Word 1 is a transform of the operands.
inline obstacle check_params(const tensor& t, bool float_weight) {
    constexpr std::int32_t f16 = 20, eight_bits = 30;
    const std::int32_t accumulator = t.params[0], activation = t.params[3];
    if (accumulator < 0 || accumulator > f16) return {-1, reason::precision, accumulator};
    if (t.params[1] != 0) return {-1, reason::hint, t.params[1]};
    if (!float_weight && activation != 0 && activation < eight_bits)
        return {-1, reason::activation_precision, activation};
    if (t.params[2] != 0) return {-1, reason::parameter, 2};  // ggml has no use for it yet
    return {};
}

/// May a matmul of float weights round its activation to the type of its weights, or f32 to tf32?
/// Not if the engine asks for sums in f32, which it also does if values may leave the range of f16.
/// fp8 is refused then too, because its tensor cores may sum in fewer bits.
inline obstacle check_rounding(const tensor& t, format weight) {
    constexpr std::int32_t f32 = 10, bf16 = 15, f16 = 20;
    const std::int32_t least = weight == format::f16 ? f16 : bf16, asked = t.params[3];
    if (t.params[0] == f32 || (asked != 0 && asked < least))
        return {-1, reason::activation_rounded, t.params[0], asked};
    return {};
}

inline obstacle check_dense(const tensor& w, const tensor& x, const tensor& dst) {
    if (x.ne[0] != w.ne[0] || dst.ne[0] != w.ne[1] ||
        elements(dst) != quotient(elements(x), x.ne[0]) * w.ne[1])
        return {-1, reason::matmul_shape};
    std::int64_t next = dst.nb[1];
    for (int d = 2; d < 4; ++d) {  // columns are numbered through all dimensions
        next *= dst.ne[d - 1];
        if (dst.ne[d] != 1 && dst.nb[d] != next) return {-1, reason::batched_result};
    }
    return {};
}

inline obstacle check_expert(const graph_view& view, const tensor& dst) {
    const tensor& w = view.at(dst.src[0]);
    const tensor& x = view.at(dst.src[1]);
    const tensor& ids = view.at(dst.src[2]);
    if (!ids.reachable) return {-1, reason::unreachable};
    if (ids.type != format::i32 || ids.nb[0] != 4 || ids.ne[2] != 1 || ids.ne[3] != 1)
        return {-1, reason::expert_ids};
    if (!words_aligned(ids)) return {-1, reason::unaligned, dst.src[2], 4};
    const std::int64_t slots = ids.ne[0];
    if (slots * ids.ne[1] > max_values)
        return {-1, reason::too_large, slots * ids.ne[1], max_values};
    const bool fits = x.ne[0] == w.ne[0] && (x.ne[1] == 1 || x.ne[1] == slots) &&
                      x.ne[2] == ids.ne[1] && x.ne[3] == 1 && dst.ne[0] == w.ne[1] &&
                      dst.ne[1] == slots && dst.ne[2] == ids.ne[1] && dst.ne[3] == 1;
    return {-1, fits ? reason::none : reason::matmul_shape};
}

/// Has each part of the activation a matrix of its own, the same in every stream? The parts of all
/// streams are numbered, so those of the result must be equally far apart.
inline obstacle check_own_matrices(const tensor& w, const tensor& x, const tensor& dst) {
    if (x.ne[2] != w.ne[2]) return {-1, reason::weight_batched};
    const bool fits = x.ne[0] == w.ne[0] && dst.ne[0] == w.ne[1] && dst.ne[1] == x.ne[1] &&
                      dst.ne[2] == x.ne[2] && dst.ne[3] == x.ne[3];
    if (!fits) return {-1, reason::matmul_shape};
    const bool even = dst.ne[3] == 1 || dst.nb[3] == dst.nb[2] * dst.ne[2];
    return {-1, even ? reason::none : reason::batched_result};
}

/// Are there so few columns that float weights, and fp8, are multiplied with f32?
inline bool few_columns(const tensor& t, const tensor& w) {
    const std::int64_t columns = t.kind == op::mul_mat_id ? t.ne[2]
                                 : w.ne[2] > 1            ? t.ne[1]
                                                          : quotient(elements(t), w.ne[1]);
    return columns < min_matmul_columns;
}

}  // namespace detail

/// Judges one edge that reads the memory of `value`.
inline reader read_of(const graph_view& view, const pattern& chain, std::int32_t value, use edge) {
    const tensor& t = view.node(edge.node);
    reader out;
    out.node = edge.node;
    out.slot = edge.slot;
    out.expert = is_matmul(t.kind) && t.src[0] != no_tensor && has_matrices(view, t);
    const auto judge = [&]() -> obstacle {
        if (!is_matmul(t.kind)) return {-1, reason::not_activation};
        const int sources = plain_sources(t.kind);
        for (int s = 0; s < sources; ++s)
            if (t.src[s] == no_tensor) return {-1, reason::missing_source};
        const std::int32_t scales = scales_of(view, t);
        if (has_more_sources(t, sources + (scales == no_tensor ? 0 : 1)))
            return {-1, reason::extra_source};
        if (edge.slot != 1 || !chain.has_group()) return {-1, reason::not_activation};
        const tensor& w = view.at(t.src[0]);
        const tensor& x = view.at(t.src[1]);
        const format_set formats = out.expert ? chain.expert : chain.dense;
        if (obstacle f = detail::check_weight(view, t.src[0], formats); f.found()) return f;
        if (scales != no_tensor)
            if (const reason r = check_scales(w, view.at(scales)); r != reason::none)
                return {-1, r, scales, 4};
        out.weight = w.type;
        out.as_f32 = reads_f32(w.type) ||
                     (is_float(w.type) &&
                      (detail::few_columns(t, w) || !chain.activations.has(matmul_layout(w.type))));
        if ((t.flags & flag_compute) == 0) return {-1, reason::not_computed};
        if (obstacle f = detail::check_params(t, out.float_weight()); f.found()) return f;
        if (t.view_src != no_tensor) return {-1, reason::written_in_place};
        if (!names_whole(view, t.src[1], value)) return {-1, reason::activation_strided};
        if (obstacle f = plain_rows_at(view, view.nodes[edge.node]); f.found()) return f;
        if (overlaps_itself(t)) return {-1, reason::overlaps_itself, view.nodes[edge.node]};
        if (out.float_weight())
            if (obstacle f = detail::check_columns(view, t.src[1]); f.found()) return f;
        if (t.kind == op::mul_mat_id) return detail::check_expert(view, t);
        return out.expert ? detail::check_own_matrices(w, x, t) : detail::check_dense(w, x, t);
    };
    out.left = judge();
    out.left.node = edge.node;
    return out;
}

}  // namespace CATENA_NAMESPACE
