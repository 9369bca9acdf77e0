// Quantized weights that two kinds of matmul take: the planner picks the layout of the quicker one.
#include "cases.hpp"

#include "catena/plan/slots.hpp"

using namespace catena;
using namespace catena_test;

namespace {

constexpr format_set layouts =
    format_set::of(format::q8_1) | format::q8_1_mmq_ds4 | format::q8_1_mmq_d4 | format::bf16_mma;

constexpr computation tiles_of(format_set weights, format layout) {
    return {.kind = skeleton::matmul, .activation = layout, .weights = weights};
}

/// The toy table with matmuls of q4_K by int8 and decoded, of q6_K by int8 alone, and the toy arch with
/// room for them.
table table_of_both() {
    static const arch roomy = [] {
        arch a = toy_arch;
        a.shared_per_sm = 233472, a.shared_per_block = 232448, a.registers_per_sm = 65536;
        return a;
    }();
    static const std::vector<row> rows = [] {
        constexpr policy by_int8 = {
            .threads = 64, .rows = 32, .columns = 16, .piece = 256, .stages = 2};
        constexpr policy by_warpgroups = {.threads = 256,
                                          .rows = 16,
                                          .columns = 128,
                                          .piece = 256,
                                          .stages = 3,
                                          .copy = copy_method::bulk,
                                          .product = inner_product::wgmma};
        std::vector<row> out(std::begin(toy_rows), std::end(toy_rows));
        computation norm = norm_row;
        norm.emits = layouts | format::f32;
        out.push_back(row_of(norm, plain_row));
        out.push_back(row_of(tiles_of(q4, format::q8_1_mmq_ds4), by_int8));
        out.push_back(row_of(tiles_of(q6, format::q8_1_mmq_d4), by_int8));
        out.push_back(row_of(tiles_of(q4, format::bf16_mma), by_warpgroups));
        return out;
    }();
    static const std::vector<lowered_chain> chains = [] {
        std::vector<lowered_chain> out(std::begin(toy_chains), std::end(toy_chains));
        for (lowered_chain& c : out)
            for (int i = 0; i < c.count; ++i)
                if (c.stages[i].kind == stage_kind::quantize) c.stages[i].formats = layouts;
        return out;
    }();
    table t = toy_table();
    t.target = &roomy;
    t.rows = rows.data();
    t.row_count = static_cast<int>(rows.size());
    t.chains = chains.data();
    t.chain_count = static_cast<int>(chains.size());
    return t;
}

struct both_case {
    graph_builder g;
    explicit both_case(std::int64_t columns) {
        const id mul = g.scaled_norm(g.input(format::f32, {512, columns}));
        g.matmul(format::q4_K, 512, mul);
        g.matmul(format::q6_K, 64, mul);
    }
    plan planned() {
        const graph_view view = g.view();
        plan p = planner(table_of_both()).plan(view);
        CHECK(p.state().ok());
        CHECK(inconsistency(view, p) == "");
        CHECK(difference(view, p) == "");
        return p;
    }
};

}  // namespace

TEST_CASE("many columns are read as bf16 where that is quicker, beside the layout of others",
          "[plan][decoded]") {
    both_case c(128);
    const plan p = c.planned();
    CHECK(steps_of(p) == "1: 0 1, 2: 2, 3: 3");
    CHECK(p.steps()[0].what.needs.emits == (format_set::of(format::bf16_mma) | format::q8_1_mmq_d4));
    CHECK(p.steps()[1].what.needs.activation == format::bf16_mma);
    CHECK(p.steps()[2].what.needs.activation == format::q8_1_mmq_d4);

    constexpr std::int64_t bf16_bytes = 128 * 512 * 2, d4_bytes = 128 * 4 * 144;
    alignas(256) static std::byte room[bf16_bytes + d4_bytes];
    REQUIRE(p.workspace_bytes() == bf16_bytes + d4_bytes);
    const row_args quantized = p.args(0, room).row;
    CHECK(p.args(1, room).matmul.x == quantized.bf16_mma);
    CHECK(p.args(2, room).matmul.x == quantized.q8_1_mmq_d4);
    const auto* d4 = static_cast<std::byte*>(quantized.q8_1_mmq_d4);
    const auto* bf16 = static_cast<std::byte*>(quantized.bf16_mma);
    CHECK((d4 + d4_bytes <= bf16 || bf16 + bf16_bytes <= d4));
}

TEST_CASE("few columns stay with int8 where a tile of warpgroups would be spare", "[plan][decoded]") {
    both_case c(12);
    const plan p = c.planned();
    CHECK(p.steps()[0].what.needs.emits ==
          (format_set::of(format::q8_1_mmq_ds4) | format::q8_1_mmq_d4));
}
