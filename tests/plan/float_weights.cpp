// Matmuls of float weights: they read a value's f32 where it lies, beside quantized ones
// or alone.
#include "cases.hpp"

#include "catena/plan/explain.hpp"
#include "catena/plan/optimize.hpp"

using namespace catena;
using namespace catena_test;

namespace {

/// Where step `s` of a plan reads its activation.
const void* activation_of(const plan& p, int s) {
    alignas(256) static std::byte workspace[1 << 16];
    return p.args(s, workspace).matvec.x;
}

/// The toy table with matmuls of f32 and of f16, a format each.
table table_of_tiles() {
    static const std::vector<row> rows = [] {
        std::vector<row> out(std::begin(toy_rows), std::end(toy_rows));
        for (const format f : {format::f32, format::f16})
            out.push_back(row_of(
                product_computation{.kind = skeleton::matmul,
                                    .activation = format::f32,
                                    .weights = format_set::of(f)},
                matmul_policy{.threads = 64, .rows = 32, .columns = 16, .piece = 32, .stages = 2}));
        return out;
    }();
    table t = toy_table();
    t.rows = rows.data();
    t.row_count = static_cast<int>(rows.size());
    return t;
}

plan plan_of_tiles(graph_builder& g) { return checked_plan(g, table_of_tiles()); }

/// x of so many columns -> norm -> MUL, as nodes 0 and 1.
struct prompt_case {
    graph_builder g;
    id x, mul;
    explicit prompt_case(std::int64_t columns)
        : x(g.input(format::f32, {512, columns})), mul(g.scaled_norm(x)) {}
};

}  // namespace

TEST_CASE("a router reads the f32 that the norm writes beside the activation of the experts",
          "[plan][float_weights]") {
    norm_case c;
    const id router = c.g.matmul(format::f32, 8, c.mul);
    c.g.matmul(format::f16, 1, c.mul);
    c.g.matmul(format::q4_K, 64, c.mul);
    const plan p = checked_plan(c.g);
    CHECK(steps_of(p) == "1: 0 1, 2: 2 3, 4: 4");
    CHECK(!p.at(1).elided);
    CHECK(p.left().size() == 0);
    CHECK(activation_of(p, 1) == c.g[c.mul].data);
    CHECK(p.args(1, nullptr).matvec.x_bytes == 2048);
    CHECK(p.args(1, nullptr).matvec.member[0].weight == c.g[c.g[router].src[0]].data);
    CHECK(p.chains().size() == 1);
    CHECK(p.workspace_bytes() > 0);
}

TEST_CASE("a norm that only float weights are multiplied with is one step, and needs no workspace",
          "[plan][float_weights]") {
    norm_case c;
    c.g.matmul(format::f16, 64, c.mul);
    c.g.matmul(format::f16, 32, c.mul);
    const plan p = checked_plan(c.g);
    CHECK(steps_of(p) == "1: 0 1, 2: 2 3");
    CHECK(p.workspace_bytes() == 0);
    CHECK(p.explain().chains[0].name == "norm.f32_f16");
}

TEST_CASE("float weights are multiplied with a value of the engine's where it lies",
          "[plan][float_weights]") {
    graph_builder g;
    const id x = g.other({g.input(format::f32, {512, 3})});
    g.matmul(format::f32, 8, x);
    const id merged = g.reshape(x, {768, 2});
    g.matmul(format::f16, 8, merged);
    const plan p = checked_plan(g);
    CHECK(steps_of(p) == "1: 1, 3: 3");
    CHECK(p.chains()[0].made_by == -1);
    CHECK(p.chains()[0].workspace_bytes == 0);
    CHECK(p.args(1, nullptr).matvec.columns == 2);
    CHECK(p.args(1, nullptr).matvec.x_bytes == 3072);
    CHECK(p.explain().chains[0].made_by == -1);
}

TEST_CASE("a value of the engine's is quantized for those who want that alone",
          "[plan][float_weights]") {
    graph_builder g;
    const id x = g.other({g.input(format::f32, {512})});
    g.matmul(format::f32, 8, x);
    g.other({x});
    g.matmul(format::q4_K, 8, x);
    const plan p = checked_plan(g);
    CHECK(steps_of(p) == "1: 1, 3:, 3: 3");
    CHECK(p.steps()[1].what.row().needs.emits == format_set::of(format::q8_1));
}

TEST_CASE("sums and activations in f32 are what may be asked for", "[plan][float_weights]") {
    norm_case c;
    const id first = c.g.matmul(format::f16, 64, c.mul);
    c.g[first].params[0] = c.g[first].params[3] = 10;
    c.g[c.g.matmul(format::f16, 64, c.mul)].params[0] = 30;
    const plan p = checked_plan(c.g);
    CHECK(steps_of(p) == "1: 0 1, 2: 2");
    CHECK(left_why(p, 3) == reason::precision);
}

TEST_CASE("a result that lies over the f32 which the step reads is left", "[plan][float_weights]") {
    norm_case c;
    const id q = c.g.matmul(format::f16, 64, c.mul);
    const id k = c.g.matmul(format::f16, 64, c.mul);
    SECTION("of a member that runs later: it stays where it is") {
        c.g.share(k, c.mul, 256);
        CHECK(steps_of(checked_plan(c.g)) == "1: 0 1, 2: 2");
    }
    SECTION("of a member behind quantized ones: there is nothing to quantize for it") {
        c.g.matmul(format::q4_K, 64, c.mul);
        std::swap(c.g.nodes[3], c.g.nodes[4]);
        c.g.share(k, c.mul, 256);
        CHECK(steps_of(checked_plan(c.g)) == "1: 0 1, 2: 2, 3: 3");
    }
    SECTION("of a GLU: it stays the engine's, its matmuls do not") {
        c.g.share(c.g.glu(q, k), c.mul);
        CHECK(steps_of(checked_plan(c.g)) == "1: 0 1, 2: 2 3");
    }
}

TEST_CASE("a member does not pass a node that overwrites what it reads", "[plan][float_weights]") {
    norm_case c;
    const id q = c.g.matmul(format::f16, 512, c.mul);
    c.g.share(c.g.other({q}), c.mul);  // the engine's, over the norm's value
    c.g.matmul(format::f16, 64, c.g.nodes[3]);
    CHECK(steps_of(checked_plan(c.g)) == "1: 0 1, 2: 2, 4: 4");
}

TEST_CASE("columns that do not all begin at 16 bytes are left to the engine",
          "[plan][float_weights]") {
    graph_builder g;
    const id x = g.input(format::f32, {512, 2});
    g.matmul(format::f16, 8, x);
    g[x].nb[1] += 4;
    const plan p = checked_plan(g);
    CHECK(p.steps().size() == 0);
    CHECK(left_why(p, 0) == reason::activation_unaligned);
}

TEST_CASE("f32 that no kernel can load by 16 bytes is left to the engine",
          "[plan][float_weights]") {
    graph_builder g;
    const id x = g.input(format::f32, {512});
    g.matmul(format::f16, 8, x);
    g[x].offset += 4;
    g[x].data = static_cast<std::byte*>(g[x].data) + 4;
    const plan p = checked_plan(g);
    CHECK(p.steps().size() == 0);
    CHECK(left_why(p, 0) == reason::activation_unaligned);
}

TEST_CASE("products of what the graph makes are the engine's", "[plan][float_weights]") {
    graph_builder g;
    const id q = g.other({g.input(format::f32, {64, 2})});
    g.mul_mat(g.input(format::f16, {64, 32}), q);  // a cache
    const plan p = checked_plan(g);
    CHECK(p.steps().size() == 0);
    CHECK(left_why(p, 1) == reason::none);
}

TEST_CASE("expert matrices of float weights pick the rows that the ids say",
          "[plan][float_weights]") {
    graph_builder g;
    const id x = g.other({g.input(format::f32, {512, 1, 2})});
    const id ids = g.input(format::i32, {4, 2});
    g.mul_mat_id(g.weight(format::f16, {512, 64, 8}), x, ids);
    const plan p = checked_plan(g);
    CHECK(steps_of(p) == "1: 1");
    const matvec_args a = p.args(0, nullptr).matvec;
    CHECK(a.x == g[x].data);
    CHECK(a.columns == 8);
    CHECK(a.x_slots == 1);
}

TEST_CASE("the order that is asked for puts float weights beside float weights",
          "[plan][float_weights]") {
    norm_case c;
    c.g.matmul(format::f32, 8, c.mul);
    c.g.matmul(format::q4_K, 64, c.mul);
    c.g.other({c.x});
    c.g.matmul(format::f32, 1, c.mul);
    c.g.matmul(format::q4_K, 64, c.mul);
    const ordering o = optimize(c.g.view());
    CHECK(o.order == std::vector<std::int32_t>{0, 1, 2, 5, 3, 6, 4});
}

TEST_CASE("from 9 columns on float weights are multiplied in tiles, a launch for each type",
          "[plan][float_weights]") {
    for (const std::int64_t columns : {4, 9}) {
        prompt_case c(columns);
        c.g.matmul(format::f16, 64, c.mul);
        c.g.matmul(format::f32, 8, c.mul);
        c.g.matmul(format::f16, 40, c.mul);
        const plan p = plan_of_tiles(c.g);
        CHECK(p.left().size() == 0);
        CHECK(p.workspace_bytes() == 0);
        if (columns == 4) {
            CHECK(steps_of(p) == "1: 0 1, 2: 2 3 4");
            continue;
        }
        CHECK(steps_of(p) == "1: 0 1, 2: 2 4, 3: 3");
        const step_args args = p.args(1, nullptr);
        REQUIRE(args.kind == skeleton::matmul);
        const matmul_args& a = args.matmul;
        CHECK(a.x == c.g[c.mul].data);
        CHECK(a.x_bytes == 2048);
        CHECK(a.x_rows == 9);
        CHECK(a.members == 2);
        CHECK(a.tiles == 1 + 1);
    }
}

TEST_CASE("many tokens multiply expert matrices of float weights in tiles",
          "[plan][float_weights]") {
    graph_builder g;
    const id x = g.other({g.input(format::f32, {512, 1, 9})});
    const id ids = g.input(format::i32, {4, 9});
    g.mul_mat_id(g.weight(format::f16, {512, 64, 8}), x, ids);
    const plan p = plan_of_tiles(g);
    REQUIRE(steps_of(p) == "1: 1");
    const step_args args = p.args(0, nullptr);
    REQUIRE(args.kind == skeleton::matmul);
    CHECK(args.matmul.x_rows == 9);
    CHECK(args.matmul.columns == 36);
    CHECK(args.matmul.experts == 8);
    CHECK(args.matmul.x_bytes == 2048);
}

TEST_CASE("who asks for f32 gets no activation that is rounded to the type of the weights",
          "[plan][float_weights]") {
    prompt_case c(9);
    const auto asks = [&c](format type, int accumulator, int activation) {
        const id m = c.g.matmul(type, 64, c.mul);
        c.g[m].params[0] = accumulator;
        c.g[m].params[3] = activation;
    };
    asks(format::f16, 10, 0);   // sums in f32
    asks(format::f16, 20, 20);  // at least f16
    asks(format::f16, 0, 15);   // at least bf16
    asks(format::f32, 0, 15);
    asks(format::f32, 0, 10);
    const plan p = plan_of_tiles(c.g);
    CHECK(steps_of(p) == "1: 0 1, 3: 3, 5: 5");
    for (const int left : {2, 4, 6}) CHECK(left_why(p, left) == reason::activation_rounded);
    CHECK(!p.at(1).elided);
    norm_case one;
    // With few columns nothing is rounded.
    one.g[one.g.matmul(format::f16, 64, one.mul)].params[0] = 10;
    CHECK(plan_of_tiles(one.g).left().size() == 0);
}
