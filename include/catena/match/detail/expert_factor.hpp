// A factor for each expert, as nvfp4 files have one for each matrix: a leaf of them, which a REPEAT
// copies for every token, and of which GET_ROWS picks those of a token's experts.
#pragma once

#include "catena/match/detail/value.hpp"

#include <cstdint>

namespace CATENA_NAMESPACE {

/// The factors that a matmul's results are times, and the nodes that gather them for its slots.
struct expert_factors {
    obstacle why;                         ///< why they are none; found() if so
    std::int32_t numbers = no_tensor;     ///< f32, those of all experts, one behind the other
    std::int32_t repeat = -1, pick = -1;  ///< positions; repeat -1: there is none

    bool found() const { return numbers != no_tensor; }
};

/// The factors that `value` is for the slots of a MUL_MAT_ID, read by node `reader`.
inline expert_factors expert_factors_at(const graph_index& g, std::int32_t value,
                                        const tensor& matmul, std::int32_t reader) {
    const graph_view& view = g.view;
    const expert_factors no{{reader, reason::factor_of_experts}};
    const std::int32_t pick = g.position(value);
    if (pick < 0 || g.kind(pick) != op::get_rows || matmul.kind != op::mul_mat_id) return no;
    const tensor& t = view.at(value);
    const tensor& ids = view.at(matmul.src[2]);
    if (node_fits(g, pick, 2).found() || t.src[1] != matmul.src[2] || t.ne[0] != 1 ||
        t.ne[1] != ids.ne[0] || t.ne[2] != ids.ne[1] || t.ne[3] != 1)
        return no;
    const std::int64_t experts = view.at(matmul.src[0]).ne[2];
    const auto has_all = [&](const tensor& s, std::int64_t times) {
        return s.ne[0] == 1 && s.ne[1] == experts && s.ne[2] == times && s.ne[3] == 1;
    };
    expert_factors out{{}, t.src[0], -1, pick};
    if (!has_all(view.at(out.numbers), ids.ne[1])) return no;
    const std::int32_t repeat = g.position(out.numbers);
    if (repeat >= 0 && g.kind(repeat) == op::repeat) {
        if (node_fits(g, repeat, 1).found()) return no;
        out.repeat = repeat;
        out.numbers = view.node(repeat).src[0];
    }
    const tensor& numbers = view.at(out.numbers);
    if (!has_all(numbers, 1) || !g.constant(out.numbers) || !contiguous(numbers)) return no;
    if (const obstacle f = plain_rows_at(view, out.numbers, reader); f.found()) return {f};
    return out;
}

}  // namespace CATENA_NAMESPACE
