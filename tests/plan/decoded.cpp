// Weights that two kinds of matmul take, quantized ones and float weights: the planner picks the
// layout of the quicker one.
#include "cases.hpp"

#include "catena/plan/optimize.hpp"

using namespace catena;
using namespace catena_test;

namespace {

constexpr format_set layouts = format_set::of(format::q8_1) | format::q8_1_mmq_ds4 |
                               format::q8_1_mmq_d4 | format::bf16_mma | format::f16_mma;
constexpr format_set f16 = format_set::of(format::f16), f16_mma = format_set::of(format::f16_mma);

constexpr product_computation tiles_of(format_set weights, format layout) {
    return {.kind = skeleton::matmul, .activation = layout, .weights = weights};
}

/// The toy table with matmuls of q4_K by int8 and decoded, of q6_K by int8 alone, of f16 that read
/// f32 and f16, and of fp8; and the toy arch with room for them.
table table_of_both() {
    static const arch roomy = [] {
        arch a = toy_arch;
        a.shared_per_sm = 233472, a.shared_per_block = 232448, a.registers_per_sm = 65536;
        a.bytes_per_us = 100000, a.cycles_per_us = 1980;
        return a;
    }();
    static const std::vector<row> rows = [] {
        constexpr matmul_policy by_int8 = {.threads = 64,
                                           .rows = 16,
                                           .columns = 16,
                                           .piece = 256,
                                           .stages = 3,
                                           .copy = copy_method::async};
        constexpr matmul_policy by_warpgroups = {.threads = 256,
                                                 .rows = 16,
                                                 .columns = 128,
                                                 .piece = 256,
                                                 .stages = 3,
                                                 .copy = copy_method::async,
                                                 .product = tile_product::wgmma};
        matmul_policy floats = by_int8, halves = by_warpgroups, scaled = by_int8;
        floats.threads = 256, floats.rows = 16, floats.stages = 4;
        floats.piece = 32, halves.piece = 64, scaled.piece = 128;
        floats.copy = copy_method::async, halves.copy = copy_method::async;
        std::vector<row> out(std::begin(toy_rows), std::end(toy_rows));
        row_computation norm = norm_row;
        norm.emits = layouts | format::f32;
        out.push_back(row_of(norm, plain_row));
        norm.emits = format_set::of(format::f32) | format::fp8_group;
        out.push_back(row_of(norm, plain_row));
        out.push_back(row_of(row_computation{.emits = layouts}, plain_row));
        out.push_back(row_of(tiles_of(f16, format::f32), floats));
        out.push_back(row_of(tiles_of(f16, format::f16_mma), halves));
        out.push_back(
            row_of(tiles_of(format_set::of(format::fp8_e4m3), format::fp8_group), scaled));
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
        const format_set fp8 = format_set::of(format::fp8_e4m3);
        lowered_chain& last = out.emplace_back(chain_of("norm.fp8", false, true, fp8));
        std::copy_backward(last.stages + 3, last.stages + last.count, last.stages + last.count + 1);
        last.stages[3] = {.kind = stage_kind::quantize,
                          .formats = format_set::of(format::fp8_group)};
        ++last.count;
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

plan plan_of_both(graph_builder& g, const options& asked = {}) {
    plan p = checked_plan(g, table_of_both(), asked);
    CHECK(p.workspace_bytes() <= optimize(g.view()).workspace_bound);
    return p;
}

struct both_case {
    graph_builder g;
    explicit both_case(std::int64_t columns) {
        const id mul = g.scaled_norm(g.input(format::f32, {512, columns}));
        g.matmul(format::q4_K, 512, mul);
        g.matmul(format::q6_K, 64, mul);
    }
    plan planned(const options& asked = {}) { return plan_of_both(g, asked); }
};

/// x of so many columns -> norm -> MUL, as nodes 0 and 1.
struct float_weights_case {
    graph_builder g;
    id mul;
    explicit float_weights_case(std::int64_t columns)
        : mul(g.scaled_norm(g.input(format::f32, {512, columns}))) {}
};

}  // namespace

TEST_CASE("many columns are read as bf16 where that is quicker, beside the layout of others",
          "[plan][decoded]") {
    both_case c(128);
    const plan p = c.planned();
    CHECK(steps_of(p) == "1: 0 1, 2: 2, 3: 3");
    CHECK(p.steps()[0].what.row().needs.emits ==
          (format_set::of(format::bf16_mma) | format::q8_1_mmq_d4));
    CHECK(p.steps()[1].what.product().needs.activation == format::bf16_mma);
    CHECK(p.steps()[2].what.product().needs.activation == format::q8_1_mmq_d4);

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

TEST_CASE("few columns stay with int8 where a tile of warpgroups would be spare",
          "[plan][decoded]") {
    both_case c(12);
    const plan p = c.planned();
    CHECK(p.steps()[0].what.row().needs.emits ==
          (format_set::of(format::q8_1_mmq_ds4) | format::q8_1_mmq_d4));
}

TEST_CASE(
    "float weights are multiplied with a rounded copy where that is quicker, and then nobody needs "
    "f32",
    "[plan][decoded]") {
    float_weights_case c(128);
    c.g.matmul(format::f16, 512, c.mul);
    c.g.matmul(format::f16, 512, c.mul);
    const plan p = plan_of_both(c.g);
    REQUIRE(steps_of(p) == "1: 0 1, 2: 2 3");
    CHECK(p.at(1).elided);
    CHECK(p.steps()[0].what.row().needs.emits == f16_mma);
    CHECK(p.steps()[1].what.product().needs.activation == format::f16_mma);
    CHECK(p.workspace_bytes() == 128 * 512 * 2);
    alignas(256) static std::byte room[128 * 512 * 2];
    CHECK(p.args(0, room).row.f16_mma == room);
    CHECK(p.args(1, room).matmul.x == room);
    CHECK(p.args(1, room).matmul.x_rows == 128);
}

TEST_CASE("few columns of float weights read f32, and so do their other readers",
          "[plan][decoded]") {
    float_weights_case few(12);
    few.g.matmul(format::f16, 64, few.mul);
    CHECK(plan_of_both(few.g).steps()[0].what.row().needs.emits == format_set::of(format::f32));

    float_weights_case c(128);
    c.g.matmul(format::f16, 512, c.mul);
    c.g.other({c.mul});
    c.g.matmul(format::q6_K, 64, c.mul);
    CHECK(plan_of_both(c.g).steps()[0].what.row().needs.emits ==
          (f16_mma | format::f32 | format::q8_1_mmq_d4));
}

TEST_CASE("who asks for f32 gets no rounded copy either", "[plan][decoded]") {
    float_weights_case c(128);
    c.g[c.g.matmul(format::f16, 512, c.mul)].params[0] = 10;
    c.g.matmul(format::f16, 512, c.mul);
    const plan p = plan_of_both(c.g);
    CHECK(steps_of(p) == "1: 0 1, 3: 3");
    CHECK(left_why(p, 2) == reason::activation_rounded);
    CHECK(!p.at(1).elided);
}

TEST_CASE("the engine's value is rounded for float weights where that saves more than it takes",
          "[plan][decoded]") {
    const auto plan_for = [](int readers) {
        graph_builder g;
        const id x = g.other({g.input(format::f32, {2048, 96})});
        for (int i = 0; i < readers; ++i) g.matmul(format::f16, 128, x);
        return plan_of_both(g);
    };
    const plan many = plan_for(6);
    CHECK(steps_of(many) == "1:, 1: 1 2 3 4 5 6");
    CHECK(many.steps()[0].what.row().needs.emits == f16_mma);
    const plan one = plan_for(1);
    CHECK(steps_of(one) == "1: 1");
    CHECK(one.steps()[0].what.product().needs.activation == format::f32);
    CHECK(one.workspace_bytes() == 0);
}

TEST_CASE("float weights beside fp8 read f32, for a step writes that or what is rounded",
          "[plan][decoded]") {
    float_weights_case c(128);
    c.g.matmul(format::f16, 512, c.mul);
    c.g.matmul(format::fp8_e4m3, 64, c.mul);
    const plan p = plan_of_both(c.g);
    CHECK(steps_of(p) == "1: 0 1, 2: 2, 3: 3");
    CHECK(p.steps()[0].what.row().needs.emits == (format_set::of(format::f32) | format::fp8_group));
}

TEST_CASE("the same bits for every number of columns are those of int8", "[plan][decoded]") {
    options asked;
    asked.pick.same_bits = true;
    for (const std::int64_t columns : {12, 128}) {
        both_case c(columns);
        CHECK(c.planned(asked).steps()[1].what.product().needs.activation == format::q8_1_mmq_ds4);
    }
}

TEST_CASE("matmuls that differ in what is quicker agree where one launch is quicker",
          "[plan][decoded]") {
    both_case c(128);
    c.g.matmul(format::q4_K, 64, c.g.nodes[1]);  // alone it would be int8
    const plan p = c.planned();
    CHECK(steps_of(p) == "1: 0 1, 2: 2 4, 3: 3");
    CHECK(p.steps()[1].what.product().needs.activation == format::bf16_mma);
    CHECK(p.steps()[0].what.row().needs.emits ==
          (format_set::of(format::bf16_mma) | format::q8_1_mmq_d4));
}

TEST_CASE("matmuls that memory keeps from one launch do not agree on what one would read",
          "[plan][decoded]") {
    for (const bool apart : {false, true}) {
        graph_builder g;
        const id mul = g.scaled_norm(g.input(format::f32, {512, 24}));
        const id read = g.input(format::f32, {512, 24});
        g.matmul(format::q4_K, 16, mul);
        g.other({read});
        const id late = g.matmul(format::q4_K, 512, mul);
        if (apart) g.share(late, read);
        const plan p = plan_of_both(g);
        CHECK(steps_of(p) == (apart ? "1: 0 1, 2: 2, 4: 4" : "1: 0 1, 2: 2 4"));
        const format_set both = format_set::of(format::q8_1_mmq_ds4) | format::bf16_mma;
        CHECK(p.steps()[0].what.row().needs.emits ==
              (apart ? both : format_set::of(format::q8_1_mmq_ds4)));
    }
}

TEST_CASE("one layout for all is written if that takes less than the quickest of each",
          "[plan][decoded]") {
    graph_builder g;
    const id mul = g.scaled_norm(g.input(format::f32, {512, 128}));
    for (int i = 0; i < 4; ++i) g.matmul(format::q4_K, 64, mul);
    g.matmul(format::q4_K, 256, mul);  // alone it would be bf16
    const plan p = plan_of_both(g);
    CHECK(steps_of(p) == "1: 0 1, 2: 2 3 4 5 6");
    CHECK(p.steps()[0].what.row().needs.emits.size() == 1);
}
