// The scales of fp8 weights are the last source of their matmul. They are f32: one for the matrix,
// one for each row or one for each square of 128 by 128 values, as in vLLM's checkpoints. Without
// that source each scale is 1.
#pragma once

#include "catena/match/graph.hpp"
#include "catena/match/reason.hpp"

#include <cstdint>

namespace CATENA_NAMESPACE {

/// The number of a matmul's sources without its scales.
constexpr int plain_sources(op kind) { return kind == op::mul_mat_id ? 3 : 2; }

/// Rewrite MUL_MAT(weight, x, scales) and MUL_MAT_ID(weight, x, ids, scales) to a member with
/// weight_scale = scales. The result is the scales of the matmul's weight, or no_tensor.
constexpr std::int32_t scales_of(const graph_view& view, const tensor& matmul) {
    const bool may = matmul.src[0] != no_tensor && view.at(matmul.src[0]).type == format::fp8_e4m3;
    return may ? matmul.src[plain_sources(matmul.kind)] : no_tensor;
}

/// The part of a weight that shares a scale. The shape of the scales says it: [1], [1, rows] or [k
/// / 128, rows / 128] rounded up, with experts as the third dimension. For other shapes `rows` is
/// 0.
struct scale_shape {
    std::int64_t rows = 0;    ///< rows that share a scale
    std::int64_t values = 0;  ///< values of a row that share a scale
    std::int64_t stride = 0;  ///< scales from one group of rows to the next
};
constexpr scale_shape shape_of_scales(const tensor& w, const tensor& scales) {
    constexpr std::int64_t side = 128;
    const std::int64_t across = (w.ne[0] + side - 1) / side, down = (w.ne[1] + side - 1) / side;
    const std::int64_t* ne = scales.ne;
    if (ne[2] != w.ne[2] || ne[3] != w.ne[3]) return {};
    if (ne[0] == 1 && ne[1] == 1) return {w.ne[1], w.ne[0], 0};
    if (ne[0] == 1 && ne[1] == w.ne[1]) return {1, w.ne[0], 1};
    if (ne[0] == across && ne[1] == down) return {side, side, across};
    return {};
}

/// May a group read these scales?
inline reason check_scales(const tensor& w, const tensor& scales) {
    if (!scales.reachable) return reason::unreachable;
    const bool fits =
        scales.type == format::f32 && contiguous(scales) && shape_of_scales(w, scales).rows != 0;
    if (!fits) return reason::weight_scales;
    return words_aligned(scales) ? reason::none : reason::unaligned;
}

/// Do two matmuls have equally many scales, which cover the same parts of their weights?
constexpr bool same_scales(const graph_view& view, const tensor& a, const tensor& b) {
    const std::int32_t s = scales_of(view, a), t = scales_of(view, b);
    if (s == no_tensor || t == no_tensor) return s == t;
    for (int d = 0; d < 4; ++d)
        if (view.at(s).ne[d] != view.at(t).ne[d]) return false;
    return true;
}

}  // namespace CATENA_NAMESPACE
