// Norms with a SCALE behind them, or before the residual that they read.
#include "cases.hpp"

#include "random/tables.hpp"

using namespace catena;
using namespace catena_test;

namespace {

row_args row_args_of(const plan& p, id node, graph_builder& g) {
    const int at = p.at(g.position(node)).step;
    REQUIRE(at >= 0);
    REQUIRE(p.steps()[static_cast<std::size_t>(at)].what.kind() == skeleton::row);
    return p.args(at, nullptr).row;
}

}  // namespace

TEST_CASE("a norm, its weight and its SCALE are one launch; without the weight an engine has one",
          "[plan]") {
    const bool weighted = GENERATE(false, true);
    graph_builder g;
    const id x = g.input(format::f32, {128, 16});
    const id norm = g.rms_norm(x);
    const id value = weighted ? g.mul(norm, g.weight(format::f32, {128})) : norm;
    const id scaled = g.scale(value, 0.125f);
    bool one = weighted;
    SECTION("an op that Catena does not know") { g.other({scaled}); }
    SECTION("a function that an engine makes of it") {
        g.other({g.scale(g.unary(scaled, sub_op::tanh), 8)});
        one = false;
    }
    SECTION("besides others that read the norm itself") { g.other({scaled, value}), one = false; }
    const plan p = checked_plan(g, shipped_table());
    CHECK(p.steps().size() == (one ? 1 : 0));
    if (!one) return;
    const row_args a = row_args_of(p, scaled, g);
    CHECK(p.at(g.position(norm)).elided);
    CHECK(a.x == g[x].data);
    CHECK(a.f32 == g[scaled].data);
    CHECK(a.norm_scale == 0.125f);
    CHECK(a.weight != nullptr);
}

TEST_CASE("a SCALE and the norm that reads it are one launch, which writes both", "[plan]") {
    const bool goes_on = GENERATE(false, true);
    graph_builder g;
    const id x = g.input(format::f32, {512, 2});
    const id scaled = g.scale(x, 50.5f);
    const id value = g.scaled_norm(scaled);
    const id made = g.matmul(format::q4_K, 512, value);
    g.other({goes_on ? g.add(made, scaled) : made});
    const plan p = checked_plan(g, shipped_table());
    CHECK(p.steps().size() == 2);
    const row_args a = row_args_of(p, value, g);
    CHECK(a.x == g[x].data);
    CHECK(a.x_scale == 50.5f);
    CHECK(a.sum == (goes_on ? g[scaled].data : nullptr));
    CHECK(p.at(g.position(scaled)).elided == !goes_on);
}

TEST_CASE("a matvec does not make a norm that is scaled", "[plan]") {
    const bool scaled = GENERATE(false, true);
    graph_builder g;
    const id norm = g.scaled_norm(g.input(format::f32, {512}));
    const id value = scaled ? g.scale(norm, 2) : norm;
    g.other({g.matmul(format::q4_K, 512, value)});
    const plan p = checked_plan(g, norm_inside_table());
    CHECK(p.steps().size() == (scaled ? 2 : 1));
}

TEST_CASE("a SCALE before the residual is the norm's, unless a matmul has it", "[plan]") {
    const bool by_matmul = GENERATE(false, true);
    graph_builder g;
    const id big = g.input(format::f32, {512, 3, 2}), x = g.input(format::f32, {512, 2, 2});
    const id past = g.view(big, {512, 2, 2});  // whose columns lie apart: no matmul adds it
    g[past].nb[2] = g[past].nb[3] = g[big].nb[2];
    const id made = by_matmul ? g.matmul(format::q4_K, 512, x) : g.other({x});
    const id scaled = g.scale(made, 0.25f);
    const id sum = g.add(scaled, past);
    const id value = g.scaled_norm(sum);
    g.other({g.matmul(format::q4_K, 64, value), sum});
    const plan p = checked_plan(g, shipped_table());
    const row_args a = row_args_of(p, value, g);
    CHECK(a.x == g[by_matmul ? scaled : made].data);
    CHECK(a.x_scale == (by_matmul ? 1.0f : 0.25f));
    CHECK(a.residual == g[past].data);
    CHECK(p.at(g.position(scaled)).elided == !by_matmul);
}
