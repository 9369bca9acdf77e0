// What the proof excuses, each with a fault that looks like it: docs/proof.md lists them.
#include "cases.hpp"
#include "faults.hpp"

#include "catena/instances/sm_90.hpp"
#include "catena/match/ggml_cuda.hpp"
#include "catena/plan/verify.hpp"

#include <algorithm>
#include <string>

using namespace catena;
using namespace catena_test;

namespace {

options unproved() {
    options asked;
    asked.verify = false;
    return asked;
}

plan planned(graph_builder& g, const options& asked = unproved()) {
    return planner(instances::sm_90(), asked).plan(g.view());
}

/// What the proof says of a plan; "" if it is right.
std::string fault_of(graph_builder& g, const plan& made) {
    const verification v = verify(g.view(), made);
    CHECK((v.proved || v.state.code == status_code::wrong_plan));
    return v.state.message;
}

using Catch::Contains;

/// A value of the engine's, its norm, and a matrix that reads it.
struct normed {
    graph_builder g;
    id x, weight, mul, product;

    explicit normed(std::int64_t columns, std::int64_t k = 512) {
        x = g.other({g.input(format::f32, {k, columns})});
        weight = g.weight(format::f32, {k});
        mul = g.mul(g.rms_norm(x), weight);
        product = g.matmul(format::q4_K, 256, mul);
        g.other({mul});
        g.other({product});
    }
};

/// The step that computes node t.
std::size_t step_of(graph_builder& g, const plan& made, id t) {
    const std::int32_t s = made.at(g.position(t)).step;
    REQUIRE(s >= 0);
    return static_cast<std::size_t>(s);
}

/// The first row that computes the same as step s has, for whose policy `f` holds.
template <class F>
int row_like(const plan& made, std::size_t s, F f) {
    const table& t = made.rows();
    const row& own = t.rows[made.steps()[s].row];
    for (int r = 0; r < t.row_count; ++r)
        if (t.rows[r].computes.kind() == skeleton::row && t.rows[r].computes == own.computes &&
            f(t.rows[r].policy.row()))
            return r;
    FAIL("the table has no such row");
    return -1;
}

/// A matrix, a residual that is added to its result, and another node of the engine behind them.
struct moved {
    graph_builder g;
    id x, past, product, sum, behind;

    moved() {
        x = g.other({g.input(format::f32, {256, 1})});
        past = g.other({g.input(format::f32, {256, 1})});
        product = g.matmul(format::q4_K, 256, x);
        sum = g.add(product, past);
        behind = g.other({g.input(format::f32, {256, 1})});
        g.other({sum});
        g.other({behind});
    }
};

/// Lets the step that launches at node `from` launch at `to`, which it covers too.
void launch_at(graph_builder& g, plan& made, id from, id to) {
    const plan_faults inside{made};
    const std::size_t s = step_of(g, made, from);
    const std::int32_t old_place = g.position(from), place = g.position(to);
    REQUIRE(
        (inside.at(s).launch_at == old_place && made.at(place).step == made.at(old_place).step));
    inside.at(s).launch_at = place;
    std::swap(inside.node(old_place).role, inside.node(place).role);
    for (std::int32_t n = std::min(old_place, place) + 1; n <= std::max(old_place, place); ++n)
        inside.first_steps()[static_cast<std::size_t>(n)] += place < old_place ? 1 : -1;
}

}  // namespace

TEST_CASE("a launch of one row may write what it reads only if it reads all of it before") {
    normed c(1);
    c.g.share(c.mul, c.x, 64);
    plan made = planned(c.g);
    REQUIRE(fault_of(c.g, made) == "");
    const plan_faults inside{made};
    const std::size_t s = step_of(c.g, made, c.mul);
    REQUIRE(inside.is_row(s));
    inside.give_row(s, row_like(made, s, [&](const row_policy& p) {
                        return !reads_before_it_writes(p) && rows_of_block(p) == 1;
                    }));
    CHECK_THAT(fault_of(c.g, made), Contains("is written over by the same launch"));
}

TEST_CASE("a row may lie over its operand, not between the rows of it") {
    normed c(2);
    c.g.share(c.mul, c.x);
    plan made = planned(c.g);
    REQUIRE(fault_of(c.g, made) == "");
    const plan_faults inside{made};
    const std::size_t s = step_of(c.g, made, c.mul);
    c.g.share(c.mul, c.x, 2048);  // its first row over the second one of x
    inside.row(s).f32 = static_cast<float*>(c.g[c.mul].data);
    CHECK_THAT(fault_of(c.g, made), Contains("x is written over by the same launch"));
}

TEST_CASE("a row of odd length is not read four elements at a time") {
    graph_builder g;
    const id x = g.other({g.input(format::f32, {510})});
    const id mul = g.scaled_norm(x);
    g.other({mul});
    graph_view view = g.view();
    view.engine = &node_by_node;  // of which a norm and its weight are two launches
    plan made = planner(instances::sm_90(), unproved()).plan(view);
    REQUIRE(verify(view, made).proved);
    const plan_faults inside{made};
    const std::size_t s = step_of(g, made, mul);
    REQUIRE_FALSE(made.rows().rows[inside.at(s).row].policy.row().vector);
    inside.give_row(s, row_like(made, s, [](const row_policy& p) {
                        return p.vector && (p.values == 0 || p.values * p.threads >= 510);
                    }));
    CHECK_THAT(verify(view, made).state.message,
               Contains("no multiple of what its kernel takes together"));
}

TEST_CASE("what is no constant is not read early") {
    normed c(2);
    plan made = planned(c.g);
    REQUIRE(fault_of(c.g, made) == "");
    const plan_faults inside{made};
    const std::size_t s = step_of(c.g, made, c.mul);
    REQUIRE((inside.is_row(s) && inside.row(s).weight_early));
    c.g[c.weight].weight = false;  // a leaf that the engine may change
    CHECK_THAT(fault_of(c.g, made),
               Contains("the norm's weight is read early, and is no constant"));
    inside.row(s).weight_early = false;
    CHECK(fault_of(c.g, made) == "");
    const id matrix = c.g[c.product].src[0];
    c.g[matrix].weight = false;
    CHECK_THAT(fault_of(c.g, made), Contains("is not the value of that node"));
}

TEST_CASE("a step starts early only where all before it is done") {
    normed c(2);
    options asked = unproved();
    asked.engine_may_skip_wait = true;
    plan made = planned(c.g, asked);
    REQUIRE(fault_of(c.g, made) == "");
    const plan_faults inside{made};
    int late = 0;
    for (std::size_t s = 0; s < inside.steps(); ++s) {
        launch_config& config = inside.at(s).config;
        if (config.dependent) continue;
        ++late;
        config.dependent = true;
        CHECK_THAT(fault_of(c.g, made), Contains("may start before all that stands before it"));
        config.dependent = false;
    }
    CHECK(late > 0);
    plan trusting = planned(c.g);  // an engine whose kernels all wait
    for (std::size_t s = 0; s < trusting.steps().size(); ++s)
        plan_faults{trusting}.at(s).config.dependent = true;
    CHECK(fault_of(c.g, trusting) == "");
}

TEST_CASE(
    "a step starts early only behind nodes whose kernels wait, of the version that was read") {
    graph_builder g;
    const id q = g.input(format::f32, {64, 1, 8}), k = g.input(format::f16, {64, 256});
    const id first =
        g.matmul(format::q4_K, 512, g.scaled_norm(g.other({g.input(format::f32, {512})})));
    const id attention = g.node(op::flash_attn_ext, format::f32, {64, 8}, {q, k, k, first});
    const id out = g.matmul(format::q4_K, 256, g.scaled_norm(g.reshape(attention, {512})));
    g.other({out});
    options asked = unproved();
    asked.engine_may_skip_wait = true;
    asked.engine_version = ggml_cuda_version;
    const plan made = planned(g, asked);
    REQUIRE(fault_of(g, made) == "");
    const auto behind = [&](const step& s) { return s.launch_at > g.position(attention); };
    const auto next = std::find_if(made.steps().begin(), made.steps().end(), behind);
    REQUIRE(next != made.steps().end());
    REQUIRE(next->config.dependent);
    g[attention].params[4] = 128;  // one tile of keys
    CHECK_THAT(fault_of(g, made), Contains("may start before all that stands before it"));
    g[attention].params[4] = 0;
    g[attention].kind = op::other;
    CHECK_THAT(fault_of(g, made), Contains("may start before all that stands before it"));
}

TEST_CASE("a step behind another one of its stream alone starts early") {
    graph_builder g;
    const id x = g.other({g.input(format::f32, {512, 2})});
    const auto chain = [&] { return g.matmul(format::q4_K, 256, g.scaled_norm(x)); };
    const id first = chain();
    const auto before = static_cast<std::size_t>(g.position(first)) + 1;
    const id second = chain();
    for (std::size_t n = before; n < g.nodes.size(); ++n) g[g.nodes[n]].stream = 1;
    options asked = unproved();
    asked.engine_may_skip_wait = true;
    plan made = planned(g, asked);
    REQUIRE(fault_of(g, made) == "");
    REQUIRE(step_of(g, made, first) == 1);
    REQUIRE(step_of(g, made, second) == 3);
    launch_config& config = plan_faults{made}.at(2).config;
    REQUIRE_FALSE(config.dependent);
    config.dependent = true;
    CHECK_THAT(fault_of(g, made), Contains("may start before all that stands before it"));
}

TEST_CASE("an activation is read on the stream that wrote it") {
    normed c(2);
    const plan made = planned(c.g);
    REQUIRE(fault_of(c.g, made) == "");
    c.g[c.product].stream = 1;
    CHECK_THAT(fault_of(c.g, made), Contains("the activation was written on another stream"));
}

TEST_CASE("a result whose elements share bytes is a fault") {
    normed c(2);
    plan made = planned(c.g);
    REQUIRE(fault_of(c.g, made) == "");
    const plan_faults inside{made};
    const std::size_t s = step_of(c.g, made, c.product);
    REQUIRE(inside.members(s) == 1);
    c.g[c.product].nb[1] -= 4;
    inside.member(s, 0).dst_nb1 -= 4;
    CHECK_THAT(fault_of(c.g, made), Contains("has elements that share bytes"));
}

TEST_CASE("a GLU whose second matrix has no scales is not excused by those of the first") {
    graph_builder g;
    const id x = g.other({g.input(format::f32, {512, 2})});
    const id first = g.weight(format::f32, {4, 2}), second = g.weight(format::f32, {4, 2});
    g.share(second, first);
    const auto product = [&](id scales) {
        const id m = g.matmul(format::fp8_e4m3, 256, x);
        g[m].src[2] = scales;
        return m;
    };
    const id gate = product(first), up = product(second);
    const id value = g.glu(gate, up);
    g.other({value});
    plan made = planned(g);
    REQUIRE(fault_of(g, made) == "");
    const plan_faults inside{made};
    const std::size_t s = step_of(g, made, value);
    REQUIRE(inside.member(s, 0).up_scale != nullptr);
    inside.member(s, 0).up_scale = nullptr;
    CHECK_THAT(fault_of(g, made), Contains("is not the value of that node"));
}

TEST_CASE("a row that adds up no slots is not told to add up the only one") {
    graph_builder g;
    const id ids = g.node(op::argsort, format::i32, {1, 2}, {g.input(format::f32, {1, 2})});
    const id x = g.other({g.input(format::f32, {512, 1, 2})});
    const id product = g.mul_mat_id(g.weight(format::q4_K, {512, 256, 4}), x, ids);
    g.other({product});
    plan made = planned(g);
    const plan_faults inside{made};
    const std::size_t s = step_of(g, made, product);
    const table& t = made.rows();
    const row& own = t.rows[inside.at(s).row];
    const row* const other = std::find_if(t.rows, t.rows + t.row_count, [&](const row& r) {
        return r.computes == own.computes && slots_added(r.policy.matvec()) == 1;
    });
    REQUIRE(other != t.rows + t.row_count);
    inside.give_row(s, static_cast<int>(other - t.rows));
    REQUIRE(fault_of(g, made) == "");
    inside.head(s).combined = true;
    CHECK_THAT(fault_of(g, made), Contains("the sum of slots is nothing that its row can do"));
}

TEST_CASE("a launch that comes too late to be overwritten as in the engine's order is a fault") {
    norm_case c;
    const id early = c.g.matmul(format::q4_K, 64, c.mul);
    const id over = c.g.other({c.x});
    c.g.share(over, early);
    const id late = c.g.matmul(format::q4_K, 64, c.mul);
    c.g.other({late});
    plan p = planner(toy_table()).plan(c.g.view());
    REQUIRE(steps_of(p) == "1: 0 1, 2: 2 4");
    launch_at(c.g, p, early, late);
    CHECK_THAT(fault_of(c.g, p), Contains("somebody may read"));
}

TEST_CASE("what a node changes in place is a value that it reads") {
    graph_builder g;
    const id x = g.other({g.input(format::f32, {256, 1})});
    const id first = g.matmul(format::q4_K, 256, x);
    const id over = g.other({x});
    const id product = g.matmul(format::q4_K, 256, x);
    g.share(over, product);
    const id some = g.other({g.input(format::f32, {256, 1})});  // writes a part of the result
    g.rename(some, product);
    g.other({some});
    g.other({first});
    plan made = planned(g);
    REQUIRE(fault_of(g, made) == "");
    const std::size_t s = step_of(g, made, product), before = step_of(g, made, first);
    REQUIRE(made.steps()[s].launch_at == g.position(product));
    plan_faults{made}.launch_beside(s, before);
    CHECK_THAT(fault_of(g, made), Contains("another value than in the engine's order"));
}

TEST_CASE("the result of a node is no weight, though the engine calls it one") {
    graph_builder g;
    const id x = g.other({g.input(format::f32, {256, 1})});
    const id early = g.matmul(format::q4_K, 256, x);
    g.other({early});
    const id late = g.matmul(format::q4_K, 256, x);
    g.other({late});
    plan made = planned(g);
    g[early].weight = true;
    REQUIRE(fault_of(g, made) == "");
    launch_at(g, made, early, late);
    CHECK_THAT(fault_of(g, made), Contains("another value than in the engine's order"));
}

TEST_CASE("a source that is repeated in another way is not the source that a step reads") {
    graph_builder g;
    const id x = g.other({g.input(format::f32, {256, 4})});
    const id bias = g.weight(format::f32, {256});
    const id sum = g.add(g.matmul(format::q4_K, 256, x), bias);
    g.other({sum});
    plan made = planned(g);
    REQUIRE(fault_of(g, made) == "");
    REQUIRE(made.at(g.position(sum)).step >= 0);
    g[bias].ne[1] = 2;  // two rows, each for two columns
    CHECK_THAT(fault_of(g, made), Contains("is not the value of that node"));
}

TEST_CASE("a launch is not asked for a layout that its row does not write") {
    graph_builder g;
    const id x = g.other({g.input(format::f32, {512, 2})});  // its reader may quantize one
    const id value = g.glu(g.matmul(format::q4_K, 512, x), g.matmul(format::q4_K, 512, x));
    g.other({g.matmul(format::q4_K, 256, value)});
    plan made = planned(g);
    REQUIRE(fault_of(g, made) == "");
    const plan_faults inside{made};
    const std::int32_t makes = inside.makes(step_of(g, made, value), 0);
    REQUIRE(makes >= 0);
    planned_chain& chain = inside.chains()[static_cast<std::size_t>(makes)];
    REQUIRE(chain.layouts == format_set::of(format::q8_1));
    chain.layouts = chain.layouts | format::f16_mma;
    chain.workspace_offset[layout_number(format::f16_mma)] = inside.workspace_bytes();
    inside.workspace_bytes() += 4096;
    CHECK_THAT(fault_of(g, made), Contains("is not written by its row"));
}
