// Graphs in which something follows a matmul, and a table that has rows for all of it.
#pragma once

#include "cases.hpp"

namespace catena_test {

using namespace catena;

inline constexpr epilogue_set everything =
    epilogue_set::of(epilogue_part::scale) | epilogue_part::factor | epilogue_part::bias |
    epilogue_part::glu | epilogue_part::act | epilogue_part::residual | epilogue_part::quantize;
inline constexpr format_set q8_1_and_mmq =
    format_set::of(format::q8_1) | format::q8_1_mmq_d4 | format::q8_1_mmq_ds4;

constexpr product_computation with_epilogue(product_computation c) {
    c.epilogue = everything;
    return c;
}
constexpr row_computation emitting(row_computation c, format_set emits) {
    c.emits = emits;
    return c;
}
constexpr product_computation matmul_of(format_set weights, format layout) {
    return {
        .kind = skeleton::matmul, .activation = layout, .weights = weights, .epilogue = everything};
}

/// The toy table with gated values, epilogues, and matmuls for any number of columns.
inline table full_table() {
    static const std::vector<row> rows = [] {
        const row_computation gated = {.stages = stage_set::of(stage_kind::glu),
                                       .emits = q8_1_and_mmq | format::f32};
        constexpr matmul_policy prompt = {
            .threads = 64, .rows = 32, .columns = 16, .piece = 256, .stages = 2};
        std::vector<row> out;
        for (const row_policy& p : {kept_row, plain_row}) {
            out.push_back(row_of(emitting(norm_row, q8_1_and_mmq | format::f32), p));
            out.push_back(row_of(gated, p));
        }
        out.push_back(row_of(emitting(quantize_row, q8_1_and_mmq), plain_row));
        for (const format_set s : {q4, q4 | q6, q8})
            for (const matvec_policy& p : {narrow_matvec, wide_matvec})
                out.push_back(row_of(with_epilogue(matvec_of(s)), p));
        out.push_back(row_of(matmul_of(q4, format::q8_1_mmq_ds4), prompt));
        out.push_back(row_of(matmul_of(q6, format::q8_1_mmq_d4), prompt));
        return out;
    }();
    static const std::vector<lowered_chain> chains = [] {
        std::vector<lowered_chain> out(std::begin(toy_chains), std::end(toy_chains));
        lowered_chain gated{.name = "gated.q4_q6", .signature = "gated.q4_q6"};
        gated.stages[gated.count++] = {.kind = stage_kind::glu, .reads = operand::gate};
        gated.stages[gated.count++] = {.kind = stage_kind::emit,
                                       .formats = format_set::of(format::f32)};
        gated.stages[gated.count++] = {.kind = stage_kind::quantize, .formats = q8_1_and_mmq};
        gated.stages[gated.count++] = {.kind = stage_kind::mul_mat, .formats = q4 | q6};
        gated.stages[gated.count++] = {.kind = stage_kind::mul_mat_id, .formats = q4 | q6};
        out.push_back(gated);
        for (lowered_chain& c : out) {
            for (int i = 0; i < c.count; ++i)
                if (c.stages[i].kind == stage_kind::quantize) c.stages[i].formats = q8_1_and_mmq;
            c.stages[c.count++] = {.kind = stage_kind::epilogue, .parts = everything};
        }
        return out;
    }();
    table t = toy_table();
    t.rows = rows.data();
    t.row_count = static_cast<int>(rows.size());
    t.chains = chains.data();
    t.chain_count = static_cast<int>(chains.size());
    return t;
}

inline plan planned(graph_builder& g, const table& rows = full_table()) {
    return checked_plan(g, rows);
}

inline const problem_member& member(const plan& p, std::size_t step, int index = 0) {
    return p.steps()[step].what.product().member[index];
}

/// norm, MUL, gate, up, GLU, down: nodes 0 to 5.
struct ffn_case {
    std::int64_t columns = 1;
    graph_builder g = {};
    id x = g.input(format::f32, {512, columns});
    id mul = g.scaled_norm(x);
    id gate = g.matmul(format::q4_K, 256, mul);
    id up = g.matmul(format::q4_K, 256, mul);
    id value = g.glu(gate, up);
    id down = g.matmul(format::q6_K, 512, value);
};

}  // namespace catena_test
