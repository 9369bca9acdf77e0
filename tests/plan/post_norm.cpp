// Steps of models with norms behind what they norm, by the shipped table.
#include "cases.hpp"

#include "catena/match/detail/index.hpp"
#include "catena/plan/detail/order/slots.hpp"
#include "catena/plan/optimize.hpp"
#include "random/tables.hpp"

#include <algorithm>

using namespace catena;
using namespace catena_test;

namespace {

plan shipped_plan(graph_builder& g) { return checked_plan(g, shipped_table()); }

/// matrix, norm, residual, norm, matrices, and who reads the sum after that.
struct layer {
    graph_builder g;
    id past = g.input(format::f32, {512, 2});
    id x = g.matmul(format::q4_K, 512, g.input(format::f32, {512, 2}));
    id norm = g.rms_norm(x);
    id scaled = g.mul(norm, g.weight(format::f32, {512}));
    id sum = g.add(scaled, past);
    id next = g.rms_norm(sum, 0.25f);
    id value = g.mul(next, g.weight(format::f32, {512}));
    id out = g.matmul(format::q4_K, 512, value);
    id end = g.add(out, sum);
};

const row_args& row_args_of(const plan& p, int step) {
    static row_args a;
    REQUIRE(p.steps()[static_cast<std::size_t>(step)].what.kind() == skeleton::row);
    a = p.args(step, nullptr).row;
    return a;
}

}  // namespace

TEST_CASE("two norms and the sum between them are one step", "[plan]") {
    layer l;
    const plan p = shipped_plan(l.g);
    REQUIRE(p.steps().size() == 4);  // the input's quantizing, x, the norms, out
    const step& s = p.steps()[2];
    CHECK(steps_of(p).find("5: 1 2 3 4 5") != std::string::npos);
    CHECK(stages_of(s.what).has(stage_kind::join_residual));
    CHECK(stages_of(s.what).has(stage_kind::next_norm));
    CHECK(s.what.row().sum);
    CHECK_FALSE(s.what.row().needs.emits.has(format::f32));
    for (const id elided : {l.norm, l.scaled, l.next, l.value})
        CHECK(p.at(l.g.position(elided)).elided);
    CHECK_FALSE(p.at(l.g.position(l.sum)).elided);
    const row_args& a = row_args_of(p, 2);
    CHECK(a.x == l.g[l.x].data);
    CHECK(a.residual == l.g[l.past].data);
    CHECK(a.sum == l.g[l.sum].data);
    CHECK(a.next_weight == l.g[l.g[l.value].src[1]].data);
    CHECK(a.next_eps == 0.25f);
    CHECK(a.f32 == nullptr);
}

TEST_CASE("two norms and what is done to the sum between them are one step", "[plan]") {
    graph_builder g;
    const id past = g.input(format::f32, {512, 2});
    const id x = g.matmul(format::q4_K, 512, g.input(format::f32, {512, 2}));
    const id sum = g.add(g.scaled_norm(x), past);
    const id factor = g.weight(format::f32, {1});
    const id product = g.mul(sum, factor);
    const id value = g.scaled_norm(product);
    g.add(g.matmul(format::q4_K, 512, value), product);
    const plan p = shipped_plan(g);
    const int at = p.at(g.position(product)).step;
    REQUIRE(at >= 0);
    CHECK(p.at(g.position(value)).step == at);
    CHECK(p.at(g.position(sum)).elided);
    CHECK_FALSE(p.at(g.position(product)).elided);
    const row_args& a = row_args_of(p, at);
    CHECK(a.sum_factor == g[factor].data);
    CHECK(a.sum == g[product].data);
    CHECK(a.residual == g[past].data);
}

TEST_CASE("a sum behind a norm is quantized by the step that makes it", "[plan]") {
    graph_builder g;
    const id x = g.matmul(format::q4_K, 512, g.input(format::f32, {512, 2}));
    const id scaled = g.scaled_norm(x);
    const id sum = g.add(scaled, g.input(format::f32, {512, 2}));
    const id q = g.matmul(format::q4_K, 256, sum), k = g.matmul(format::q6_K, 256, sum);
    g.add(g.matmul(format::q4_K, 512, g.glu(q, k)), sum);
    const plan p = shipped_plan(g);
    const step& s = p.steps()[2];
    CHECK(stages_of(s.what).has(stage_kind::join_residual));
    CHECK_FALSE(stages_of(s.what).has(stage_kind::next_norm));
    CHECK_FALSE(s.what.row().sum);
    CHECK(s.what.row().needs.emits == (format_set::of(format::f32) | format::q8_1));
    CHECK(row_args_of(p, 2).f32 == g[sum].data);
    CHECK(row_args_of(p, 2).sum == nullptr);
    CHECK_FALSE(p.at(g.position(sum)).elided);
}

TEST_CASE("the results of both norms may lie over what they read, element upon element", "[plan]") {
    layer l;
    SECTION("the sum over x") { l.g.share(l.sum, l.x); }
    SECTION("the sum over the residual") { l.g.share(l.sum, l.past); }
    l.g.other({l.value});  // its f32 is written too
    SECTION("and the value over the other") { l.g.share(l.value, l.x); }
    const plan p = shipped_plan(l.g);
    CHECK(stages_of(p.steps()[2].what).has(stage_kind::next_norm));
    CHECK(row_args_of(p, 2).f32 == l.g[l.value].data);
}

TEST_CASE("what is not legal as one step is as two, or is the engine's", "[plan]") {
    SECTION("the sum lies over another part of what is read") {
        layer l;
        l.g.share(l.sum, l.x, 64);
        const plan p = shipped_plan(l.g);
        CHECK(p.at(l.g.position(l.norm)).role == role::engine);
    }
    SECTION("somebody overwrites x before the sum is made") {
        graph_builder g;
        const id x = g.matmul(format::q4_K, 512, g.input(format::f32, {512, 2}));
        const id norm = g.rms_norm(x), scaled = g.mul(norm, g.weight(format::f32, {512}));
        const id between = g.other({g.input(format::f32, {512, 2})});
        g.share(between, x);
        const id sum = g.add(scaled, between);
        g.matmul(format::q4_K, 64, g.scaled_norm(sum));
        const plan p = shipped_plan(g);
        CHECK(p.at(g.position(norm)).role == role::engine);
        CHECK(p.at(g.position(sum)).role != role::engine);  // it and its norm
    }
}

TEST_CASE("a sum that the residual's own matrix finishes is not made again", "[plan]") {
    graph_builder g;
    const id x = g.input(format::f32, {512, 2}), h = g.input(format::f32, {512, 2});
    const id residual = g.matmul(format::q4_K, 512, h);
    const id scaled = g.scaled_norm(x);
    const id sum = g.add(residual, scaled);
    // A norm of the sum that matrices read.
    g.matmul(format::q4_K, 64, g.scaled_norm(sum));
    const plan p = shipped_plan(g);
    int covers = 0;
    for (const step& s : p.steps())
        for (const std::int32_t n : p.covered(s)) covers += n == g.position(sum);
    CHECK(covers == 1);
}

TEST_CASE("what is quantized of the second norm may be there from the first on", "[plan][slots]") {
    graph_builder g;
    const id norm = g.rms_norm(g.input(format::f32, {512, 2}));
    const id scaled = g.mul(norm, g.weight(format::f32, {512}));
    const id sum = g.add(g.input(format::f32, {512, 2}), scaled);
    const id name = GENERATE(false, true) ? g.reshape(sum, {512, 2, 1}) : sum;
    g.matmul(format::q4_K, 64, sum);
    const id value = g.scaled_norm(name);
    g.matmul(format::q4_K, 64, value);
    graph_index index;
    REQUIRE(index.build(g.view()).ok());
    CHECK(slot_map(index).of(value, 512, 0).from == g.position(norm));
}

TEST_CASE("what the first norm reads is kept for the step at the sum", "[plan][optimize]") {
    layer l;
    l.g.deallocate();
    const ordering o = optimize(l.g.view());
    REQUIRE(o.state.ok());
    const auto keeps = [&](const keep_alive& k) {
        return k.tensor == l.x && o.order[static_cast<std::size_t>(k.until)] == l.g.position(l.sum);
    };
    CHECK(std::count_if(o.keep.begin(), o.keep.end(), keeps) == 1);
}
