// What is written and what is not.
#include "cases.hpp"

using namespace catena;
using namespace catena_test;

TEST_CASE("one quantized activation serves all its readers and f32 is not written", "[plan]") {
    norm_case c;
    c.g.matmul(format::q4_K, 64, c.mul);
    c.g.matmul(format::q6_K, 64, c.mul);
    const plan p = checked_plan(c.g);
    CHECK(steps_of(p) == "1: 0 1, 2: 2 3");
    CHECK(p.at(0).role == role::covered);
    CHECK(p.at(0).elided);
    CHECK(p.at(1).role == role::launch);
    CHECK(p.at(1).elided);
    CHECK(p.at(2).role == role::launch);
    CHECK_FALSE(p.at(2).elided);
    CHECK(p.at(3).role == role::covered);
    CHECK(p.chains().size() == 1);
    CHECK_FALSE(p.chains()[0].f32_written);
    CHECK(p.workspace_bytes() == 768);  // 576 bytes of q8_1, rounded
}

TEST_CASE("f32 is written exactly when somebody else may read it", "[plan]") {
    norm_case c;
    c.g.matmul(format::q4_K, 64, c.mul);
    SECTION("an op of the engine's") { c.g.other({c.mul}); }
    SECTION("an f32 matmul") { c.g.matmul(format::f32, 8, c.mul); }
    SECTION("a matmul of a format without rows") { c.g.matmul(format::mxfp4, 8, c.mul); }
    SECTION("a matmul whose activation may not be quantized") {
        c.g[c.g.matmul(format::q4_K, 8, c.mul)].params[3] = 10;
    }
    SECTION("an op that reads a part of it") { c.g.other({c.g.view(c.mul, {64}, 256)}); }
    SECTION("somebody outside") { c.g.read_outside(c.mul); }
    SECTION("somebody outside, through a view that is not even here") {
        c.g.reshape(c.mul, {256, 2});
        c.g.nodes.pop_back();
        c.g.read_outside(c.mul);
    }
    SECTION("whoever the engine cannot count") { c.g.uncounted = {c.mul}; }
    SECTION("the user: it is an output") { c.g[c.mul].flags |= flag_output; }
    const plan p = checked_plan(c.g);
    REQUIRE(p.chains().size() == 1);
    CHECK(p.chains()[0].f32_written);
    CHECK_FALSE(p.at(1).elided);
    CHECK(p.at(0).elided);
    CHECK(p.args(0, nullptr).row.f32 == c.g[c.mul].data);
}

TEST_CASE("f32 is written for a matmul that a chain lists but no row serves", "[plan]") {
    norm_case c;
    c.g.matmul(format::q4_K, 64, c.mul);
    c.g.matmul(format::q6_K, 64, c.mul);
    table only_q4 = toy_table();
    only_q4.row_count = 5;
    const graph_view view = c.g.view();
    const plan p = planner(only_q4).plan(view);
    CHECK(difference(view, p) == "");
    CHECK(steps_of(p) == "1: 0 1, 2: 2");
    CHECK_FALSE(p.at(1).elided);
    CHECK(left_why(p, 3) == reason::no_row);
}

TEST_CASE("a reader through a view that names the memory by its root keeps f32", "[plan]") {
    // The view's node is not part of this graph: an engine may have made it in another slice.
    norm_case c;
    c.g.matmul(format::q4_K, 64, c.mul);
    const id alias = c.g.reshape(c.mul, {256, 2});
    c.g.nodes.pop_back();
    c.g[alias].src[0] = no_tensor;
    c.g.other({alias});
    CHECK_FALSE(checked_plan(c.g).at(1).elided);
}

TEST_CASE("no outputs of a chain are lost, whichever node is flagged", "[plan]") {
    for (const bool on_norm : {true, false}) {
        norm_case c;
        const id out = c.g.matmul(format::q4_K, 64, c.mul);
        c.g[on_norm ? c.norm : out].flags |= flag_output;
        const plan p = checked_plan(c.g);
        for (int i = 0; i < p.size(); ++i)
            if ((c.g[c.g.nodes[static_cast<std::size_t>(i)]].flags & flag_output) != 0)
                CHECK_FALSE(p.at(i).elided);
    }
}

TEST_CASE("a norm that is read twice is left, and its MUL is quantized once all the same",
          "[plan]") {
    norm_case c;
    c.g.matmul(format::q4_K, 64, c.mul);
    c.g.other({c.norm});
    const plan p = checked_plan(c.g);
    CHECK(p.at(0).role == role::engine);
    CHECK(left_why(p, 0) == reason::read_elsewhere);
    CHECK(steps_of(p) == "2:, 2: 2");
}

TEST_CASE("a norm without quantized readers is left", "[plan]") {
    norm_case c;
    c.g.other({c.mul});
    const plan p = checked_plan(c.g);
    CHECK(p.steps().size() == 0);
    CHECK(left_why(p, 0) == reason::not_read);
}

TEST_CASE("a norm that nobody multiplies is a step where the engine needs several launches",
          "[plan]") {
    graph_builder g;
    const id x = g.add(g.input(format::f32, {512}), g.other({g.input(format::f32, {512})}));
    const id mul = g.scaled_norm(x);
    const bool turned = GENERATE(false, true);
    g.same_shape(turned ? op::rope : op::other, mul, {mul});
    const plan p = checked_plan(g);
    CHECK(steps_of(p) == (turned ? "" : "3: 1 2 3"));
    if (turned) return;
    CHECK(p.at(1).elided);
    CHECK_FALSE(p.at(3).elided);
    CHECK(p.workspace_bytes() == 0);
}

TEST_CASE("a norm whose quantized matmuls are all refused is not said to have none", "[plan]") {
    norm_case c;
    c.g[c.g.matmul(format::q4_K, 64, c.mul)].params[3] = 10;  // f32 as the activation
    CHECK(left_why(checked_plan(c.g), 0) == reason::none_served);
}

TEST_CASE("a norm whose matmuls have too many columns is left, and the columns are told",
          "[plan]") {
    graph_builder g;
    const id mul = g.scaled_norm(g.input(format::f32, {512, 5}));
    g.matmul(format::q4_K, 64, mul);
    const plan p = checked_plan(g);
    CHECK(p.steps().size() == 0);
    REQUIRE(p.left().size() == 2);
    CHECK(left_why(p, 2) == reason::no_row);
    CHECK(p.left()[1].nearest.why == limit::columns);
    CHECK(p.left()[1].nearest.have == 5);
}

TEST_CASE("the residual add joins, and its sum stays for the next layer", "[plan][residual]") {
    graph_builder g;
    const id x = g.input(format::f32, {512, 2});
    const id r = g.input(format::f32, {512, 2});
    const id sum = g.add(x, r);
    const id mul = g.scaled_norm(sum);
    g.matmul(format::q8_0, 64, mul);
    SECTION("when somebody reads it") {
        g.add(sum, x);
        const plan p = checked_plan(g);
        CHECK(steps_of(p) == "2: 0 1 2, 3: 3");
        CHECK_FALSE(p.at(0).elided);
        CHECK(p.args(0, nullptr).row.sum == g[sum].data);
        CHECK(p.chains()[0].chain == 2);
    }
    SECTION("and is not written when nobody does") {
        const plan p = checked_plan(g);
        CHECK(p.at(0).elided);
        CHECK(p.args(0, nullptr).row.sum == nullptr);
        CHECK(p.args(0, nullptr).row.residual == g[r].data);
    }
}

TEST_CASE("two norms of one sum: the first takes the ADD, the second reads the sum",
          "[plan][residual]") {
    graph_builder g;
    const id x = g.input(format::f32, {512});
    const id sum = g.add(x, g.input(format::f32, {512}));
    g.matmul(format::q4_K, 64, g.scaled_norm(sum));
    g.matmul(format::q4_K, 64, g.scaled_norm(sum));
    const plan p = checked_plan(g);
    CHECK(steps_of(p) == "2: 0 1 2, 3: 3, 5: 4 5, 6: 6");
    CHECK_FALSE(p.at(0).elided);
}

TEST_CASE("a value of the engine's is quantized once for all its matmuls", "[plan]") {
    graph_builder g;
    const id glu = g.other({g.input(format::f32, {512})});
    g.matmul(format::q4_K, 64, glu);
    g.matmul(format::q6_K, 64, g.reshape(glu, {512, 1}));
    const plan p = checked_plan(g);
    CHECK(steps_of(p) == "1:, 1: 1 3");
    CHECK(p.at(1).role == role::launch);
    CHECK(p.steps()[0].what.row().needs == row_computation{.emits = format_set::of(format::q8_1)});
    CHECK(p.chains()[0].activation == glu);
}

TEST_CASE("a value that is written in place is left alone", "[plan]") {
    graph_builder g;
    const id value = g.other({g.input(format::f32, {512})});
    g.matmul(format::q4_K, 64, value);
    g.rename(g.node(op::cpy, format::f32, {512}, {g.input(format::f32, {512}), value}), value);
    g.matmul(format::q4_K, 64, value);
    const plan p = checked_plan(g);
    CHECK(p.steps().size() == 0);
    CHECK(left_why(p, 1) == reason::written_in_place);
}

TEST_CASE("fusion or one chain can be switched off", "[plan][options]") {
    norm_case c;
    c.g.matmul(format::q4_K, 64, c.mul);
    options off;
    off.enabled = false;
    CHECK(checked_plan(c.g, off).steps().size() == 0);
    options no_norm;
    no_norm.chains_off = "norm.q4_q6";
    const plan p = checked_plan(c.g, no_norm);
    CHECK(steps_of(p) == "2:, 2: 2");
    options nothing_measured;
    nothing_measured.pick.measured_only = true;
    const plan none = checked_plan(c.g, nothing_measured);
    CHECK(none.steps().size() == 0);
    CHECK(left_why(none, 2) == reason::no_row);
}
