// Matmuls of fp8 weights: they name their scales, read f32 for few columns and fp8 for many.
#include "cases.hpp"

#include "catena/match/detail/weight_scale.hpp"
#include "catena/plan/optimize.hpp"

#include <cstdlib>

using namespace catena;
using namespace catena_test;

namespace {

constexpr format_set fp8 = format_set::of(format::fp8_e4m3);
constexpr format_set f32_and_fp8 = format_set::of(format::f32) | format::fp8_group;

lowered_chain fp8_chain(const char* name, bool norm) {
    lowered_chain c = chain_of(name, false, norm, fp8);
    std::copy_backward(c.stages + c.count - 2, c.stages + c.count, c.stages + c.count + 1);
    c.stages[c.count++ - 2] = {.kind = stage_kind::quantize,
                               .formats = format_set::of(format::fp8_group)};
    const auto parts = epilogue_set::of(epilogue_part::glu);
    c.stages[c.count++] = {.kind = stage_kind::epilogue, .parts = parts};
    return c;
}

/// The toy table with rows of fp8.
table table_of_fp8() {
    static const std::vector<row> rows = [] {
        std::vector<row> out(std::begin(toy_rows), std::end(toy_rows));
        const auto glu = epilogue_set::of(epilogue_part::glu);
        row_computation norm = norm_row;
        norm.emits = f32_and_fp8;
        out.push_back(row_of(norm, plain_row));
        out.push_back(row_of(row_computation{.emits = f32_and_fp8}, plain_row));
        matvec_policy eight = float_matvec;
        eight.columns = 8;
        out.push_back(row_of(product_computation{.kind = skeleton::matvec,
                                                 .activation = format::f32,
                                                 .weights = fp8,
                                                 .epilogue = glu},
                             eight));
        out.push_back(row_of(
            product_computation{.kind = skeleton::matmul,
                                .activation = format::fp8_group,
                                .weights = fp8,
                                .epilogue = glu},
            matmul_policy{.threads = 64, .rows = 32, .columns = 16, .piece = 128, .stages = 2}));
        return out;
    }();
    static const std::vector<lowered_chain> chains = [] {
        std::vector<lowered_chain> out(std::begin(toy_chains), std::end(toy_chains));
        out.push_back(fp8_chain("norm.fp8", true));
        out.push_back(fp8_chain("value.fp8", false));
        return out;
    }();
    table t = toy_table();
    t.rows = rows.data();
    t.row_count = static_cast<int>(rows.size());
    t.chains = chains.data();
    t.chain_count = static_cast<int>(chains.size());
    return t;
}

plan plan_of_fp8(graph_builder& g) { return checked_plan(g, table_of_fp8()); }

/// x of so many columns -> norm -> MUL, as nodes 0 and 1; then matmuls with scales.
struct fp8_case {
    graph_builder g;
    id x, mul;
    explicit fp8_case(std::int64_t columns)
        : x(g.input(format::f32, {512, columns})), mul(g.scaled_norm(x)) {}

    id matmul(std::int64_t rows, id scales) {
        const id m = g.matmul(format::fp8_e4m3, rows, mul);
        g[m].src[2] = scales;
        return m;
    }
    id scales(shape ne) { return g.weight(format::f32, ne); }
};

}  // namespace

TEST_CASE("few columns of fp8 are multiplied with f32, each member with its own scales",
          "[plan][fp8]") {
    fp8_case c(8);
    const id one = c.scales({1}), rows = c.scales({1, 256}), squares = c.scales({4, 3});
    c.matmul(128, one);
    c.matmul(256, rows);
    c.matmul(300, squares);
    c.g.matmul(format::fp8_e4m3, 64, c.mul);  // scale 1
    const plan p = plan_of_fp8(c.g);
    REQUIRE(steps_of(p) == "1: 0 1, 2: 2 3 4 5");
    CHECK(p.workspace_bytes() == 0);
    const step_args args = p.args(1, nullptr);
    REQUIRE(args.kind == skeleton::matvec);
    const matvec_member* m = args.matvec.member;
    CHECK(args.matvec.x == c.g[c.mul].data);
    CHECK(m[0].weight_scale == c.g[one].data);
    CHECK((m[0].scale_rows == 128 && m[0].scale_values == 512 && m[0].scales == 1));
    CHECK(m[1].weight_scale == c.g[rows].data);
    CHECK((m[1].scale_rows == 1 && m[1].scale_stride == 1 && m[1].scales == 256));
    CHECK(m[2].weight_scale == c.g[squares].data);
    CHECK((m[2].scale_rows == 128 && m[2].scale_values == 128 && m[2].scale_stride == 4));
    CHECK(scale_index(m[2], 0, 299, 511) == 11);
    CHECK(m[3].weight_scale == nullptr);
}

TEST_CASE("from 9 columns on fp8 is multiplied with fp8, which the norm's step writes",
          "[plan][fp8]") {
    fp8_case c(9);
    c.matmul(64, c.scales({1, 64}));
    c.matmul(32, c.scales({4, 1}));
    const plan p = plan_of_fp8(c.g);
    REQUIRE(steps_of(p) == "1: 0 1, 2: 2 3");
    CHECK(p.at(1).elided);
    CHECK(p.steps()[0].what.row().needs.emits == format_set::of(format::fp8_group));
    alignas(256) static std::byte workspace[1 << 16];
    REQUIRE(p.workspace_bytes() >= 9 * (512 + 4 * 4));
    const row_args row = p.args(0, workspace).row;
    const step_args group = p.args(1, workspace);
    REQUIRE(group.kind == skeleton::matmul);
    const matmul_args& a = group.matmul;
    CHECK(row.fp8_group.data == workspace);
    CHECK(row.fp8_group.scales == workspace + 9 * 512);
    CHECK(a.x == workspace);
    CHECK(a.x_bytes == 512);
    CHECK(a.x_rows == 9);
}

TEST_CASE("fp8 beside quantized weights is quantized for in a step of its own", "[plan][fp8]") {
    fp8_case c(9);
    static const table with_tiles = [] {
        static std::vector<row> rows;
        table t = table_of_fp8();
        rows.assign(t.rows, t.rows + t.row_count);
        row_computation norm = norm_row;
        norm.emits = format_set::of(format::f32) | format::q8_1_mmq_d4;
        rows.push_back(row_of(norm, plain_row));
        rows.push_back(row_of(
            product_computation{
                .kind = skeleton::matmul, .activation = format::q8_1_mmq_d4, .weights = q8},
            matmul_policy{.threads = 64, .rows = 32, .columns = 16, .piece = 128, .stages = 2}));
        t.rows = rows.data();
        t.row_count = static_cast<int>(rows.size());
        static std::vector<lowered_chain> chains(t.chains, t.chains + t.chain_count);
        for (lowered_chain& l : chains) {  // of one family, as those of a real table
            if (l.stages[l.count - 1].kind == stage_kind::epilogue) --l.count;
            for (stage& s : l.stages)
                if (s.kind == stage_kind::quantize && s.formats.has(format::q8_1))
                    s.formats = s.formats | format::q8_1_mmq_d4;
        }
        t.chains = chains.data();
        return t;
    }();
    c.g.matmul(format::q8_0, 64, c.mul);
    c.matmul(64, c.scales({1}));
    const graph_view view = c.g.view();
    const plan p = planner(with_tiles).plan(view);
    CHECK(difference(view, p) == "");
    REQUIRE(steps_of(p) == "1: 0 1, 2: 2, 3:, 3: 3");
    CHECK(!p.at(1).elided);
    // Another order of the readers would find both copies in use.
    alignas(256) static std::byte workspace[1 << 16];
    const auto* q8 = static_cast<std::byte*>(p.args(0, workspace).row.q8_1_mmq_d4);
    const auto* fp8 = static_cast<std::byte*>(p.args(2, workspace).row.fp8_group.data);
    CHECK(p.args(1, workspace).matmul.x == q8);
    CHECK(p.args(3, workspace).matmul.x == fp8);
    CHECK(std::abs(fp8 - q8) >= 9 * (512 + 4 * 4));
    CHECK(p.workspace_bytes() <= optimize(view).workspace_bound);
}

TEST_CASE("two fp8 matrices of a GLU are one output if their scales are dealt alike",
          "[plan][fp8]") {
    for (const bool alike : {true, false}) {
        fp8_case c(1);
        const id gate = c.matmul(256, c.scales({4, 2}));
        const id up_scales = alike ? c.scales({4, 2}) : c.scales({1, 256});
        c.g.glu(gate, c.matmul(256, up_scales));
        const plan p = plan_of_fp8(c.g);
        CHECK(steps_of(p) == (alike ? "1: 0 1, 2: 2 3 4" : "1: 0 1, 2: 2 3"));
        const matvec_args a = p.args(1, nullptr).matvec;
        if (alike) CHECK(a.member[0].up_scale == c.g[up_scales].data);
    }
}

TEST_CASE("halves of one fp8 matrix are gated in its launch if they share no square",
          "[plan][fp8]") {
    for (const int rows : {512, 320}) {
        fp8_case c(1);
        const id scales = c.scales({4, (rows + 127) / 128});
        c.g.glu_of_halves(c.matmul(rows, scales), true);
        const plan p = plan_of_fp8(c.g);
        CHECK(steps_of(p) == (rows == 512 ? "1: 0 1, 2: 2 3" : "1: 0 1, 2: 2"));
        const matvec_member m = p.args(1, nullptr).matvec.member[0];
        if (rows != 512) continue;
        CHECK(m.up_scale == c.g[scales].data);  // the second half is the gate
        CHECK(m.weight_scale == static_cast<float*>(c.g[scales].data) + 2 * 4);
    }
}

TEST_CASE("halves of each expert's fp8 matrix have their own scales", "[plan][fp8]") {
    const auto [first, second, up] =
        GENERATE(Catch::Generators::table<std::int64_t, std::int64_t, std::ptrdiff_t>(
            {{4, 4, 8}, {1, 512, 256}, {1, 1, 0}}));  // squares, rows, matrices
    const int tokens = GENERATE(1, 2, 40);
    const bool views = GENERATE(false, true), swapped = GENERATE(false, true);
    graph_builder g;
    const id x = g.other({g.input(format::f32, {512, 1, tokens})});
    const id ids = g.input(format::i32, {4, tokens});
    const id made = g.mul_mat_id(g.weight(format::fp8_e4m3, {512, 512, 8}), x, ids);
    const id scales = g[made].src[3] = g.weight(format::f32, {first, second, 8});
    const id value = views ? g.glu_of_views(made, swapped) : g.glu_of_halves(made, swapped);
    g.other({value});
    const plan p = plan_of_fp8(g);
    const std::int32_t step = p.at(g.position(made)).step;
    REQUIRE(step >= 0);
    REQUIRE(p.at(g.position(value)).step == step);
    const step_args a = p.args(step, nullptr);
    const matvec_member m = a.kind == skeleton::matvec ? a.matvec.member[0] : a.matmul.member[0];
    auto* const of_gate = static_cast<const float*>(g[scales].data);
    CHECK(m.weight_scale == of_gate + (swapped ? up : 0));
    CHECK(m.up_scale == of_gate + (swapped ? 0 : up));
    CHECK(m.scales == first * second);
}

TEST_CASE("experts of fp8 have scales each", "[plan][fp8]") {
    graph_builder g;
    const id x = g.other({g.input(format::f32, {512, 1, 2})});
    const id m =
        g.mul_mat_id(g.weight(format::fp8_e4m3, {512, 256, 8}), x, g.input(format::i32, {4, 2}));
    g[m].src[3] = g.weight(format::f32, {4, 2, 8});
    const plan p = plan_of_fp8(g);
    REQUIRE(steps_of(p) == "1: 1");
    CHECK(p.args(0, nullptr).matvec.member[0].scales == 8);
    g[m].src[3] = g.weight(format::f32, {4, 2});
    CHECK(left_why(plan_of_fp8(g), 1) == reason::weight_scales);
}

TEST_CASE("scales that a node makes are an input of the step", "[plan][fp8]") {
    fp8_case c(1);
    c.matmul(64, c.scales({1}));
    const id made = c.g.other({c.g.input(format::f32, {1, 64})});
    const id second = c.matmul(64, made);
    SECTION("a member does not pass the node that makes them") {
        CHECK(steps_of(plan_of_fp8(c.g)) == "1: 0 1, 2: 2, 4: 4");
        const ordering o = optimize(c.g.view());
        CHECK(o.order == std::vector<std::int32_t>{0, 1, 2, 3, 4});
    }
    SECTION("a result may not lie over them") {
        c.g.share(second, made);
        const plan p = plan_of_fp8(c.g);
        CHECK(steps_of(p) == "1: 0 1, 2: 2");
        CHECK(left_why(p, 4) == reason::meets_own_input);
    }
}

TEST_CASE("scales of another shape or type are left with the reason", "[plan][fp8]") {
    fp8_case c(1);
    c.matmul(64, c.scales({64}));
    c.matmul(64, c.g.weight(format::f16, {1}));
    const id m = c.g.matmul(format::f16, 64, c.mul);  // no scales for what is not fp8
    c.g[m].src[2] = c.scales({1});
    const plan p = plan_of_fp8(c.g);
    CHECK(left_why(p, 2) == reason::weight_scales);
    CHECK(left_why(p, 3) == reason::weight_scales);
    CHECK(left_why(p, 4) == reason::extra_source);
}

TEST_CASE("an activation that may not be rounded to 8 bits is not multiplied as fp8",
          "[plan][fp8]") {
    for (const std::int64_t columns : {8, 9}) {
        fp8_case c(columns);
        c.g[c.matmul(64, c.scales({1}))].params[3] = 20;  // at least f16
        c.g[c.matmul(64, c.scales({1}))].params[0] = 10;  // sums in f32
        const plan p = plan_of_fp8(c.g);
        CHECK(left_why(p, 2) == (columns == 8 ? reason::none : reason::activation_precision));
        CHECK(left_why(p, 3) == (columns == 8 ? reason::none : reason::activation_rounded));
    }
}

TEST_CASE("the workspace of fp8 is within its bound", "[plan][fp8]") {
    for (const std::int64_t columns : {1, 8, 9, 40}) {
        fp8_case c(columns);
        c.matmul(64, c.scales({1}));
        const std::int64_t bound = optimize(c.g.view()).workspace_bound;
        CHECK(plan_of_fp8(c.g).workspace_bytes() <= bound);
    }
}

TEST_CASE("squares of 128 may leave a rest of a row", "[plan][fp8]") {
    graph_builder g;
    const id w = g.weight(format::fp8_e4m3, {576, 300});
    const auto shape = [&](catena_test::shape scales) {
        return shape_of_scales(g[w], g[g.weight(format::f32, scales)]);
    };
    CHECK((shape({5, 3}).rows == 128 && shape({5, 3}).stride == 5));
    CHECK(shape({4, 3}).rows == 0);
    CHECK(shape({5, 2}).rows == 0);
}
