// A factor for each expert, as files in nvfp4 have one for each matrix. The factors are a leaf. A
// REPEAT copies them for every token, and a GET_ROWS picks those of the token's experts.
#pragma once

#include "catena/match/detail/value.hpp"

#include <cstdint>

namespace CATENA_NAMESPACE {

/// The factors of a matmul's experts, and the nodes that gather them for the slots.
struct expert_factors {
    obstacle why;                      ///< reason why there are no factors
    std::int32_t numbers = no_tensor;  ///< f32 factors of all experts, one behind the other
    std::int32_t repeat = -1;          ///< position of the REPEAT, or -1
    std::int32_t pick = -1;            ///< position of the GET_ROWS

    bool found() const { return numbers != no_tensor; }
};

/// Rewrite GET_ROWS(factors, ids) and GET_ROWS(REPEAT(factors), ids) to a factor for each expert of
/// a MUL_MAT_ID with the same ids. `value` is the result of the GET_ROWS, which node `reader`
/// reads.
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
