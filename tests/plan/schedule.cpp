#include "catena/plan/detail/order/schedule.hpp"

#include "cases.hpp"

using namespace catena;
using namespace catena_test;

TEST_CASE("a step may not pass what another step reads besides its nodes", "[schedule]") {
    graph_builder g;
    const id x = g.other({g.input(format::f32, {512})});
    g.other({g.input(format::f32, {512})});
    const id reader = g.matmul(format::q4_K, 64, x);
    const id late = g.other({g.input(format::f32, {512})});
    g.share(late, x);
    graph_index index;
    REQUIRE(index.build(g.view()).ok());

    trial_step hoist;
    hoist.launch_at = 1;
    hoist.nodes = {{3, false, 0}};
    SECTION("as an engine node it reads x") {
        CHECK(schedule(index).blocker(hoist) == g.position(reader));
    }
    SECTION("as a step it reads the workspace, and its row step reads x") {
        schedule s(index);
        trial_step row;
        row.launch_at = 2;
        s.accept(row);
        trial_step group;
        group.launch_at = 2;
        group.nodes = {{2, false, 2u}};
        s.accept(group);
        CHECK(s.blocker(hoist) == -1);

        schedule t(index);
        row.also_reads = x;
        t.accept(row);
        t.accept(group);
        CHECK(t.blocker(hoist) == 2);
    }
}

TEST_CASE("a step does not pass the node at which it is launched", "[schedule]") {
    graph_builder g;
    const id x = g.other({g.input(format::f32, {512})});
    g.other({x});
    const id over = g.other({g.input(format::f32, {512})});
    g.share(over, x);
    graph_index index;
    REQUIRE(index.build(g.view()).ok());
    trial_step late;
    late.launch_at = g.position(over);
    late.nodes = {{1, false, 0}};
    CHECK(schedule(index).blocker(late) == g.position(over));
}

TEST_CASE("tensors meet that have one byte in common", "[schedule]") {
    graph_builder g;
    const id a = g.input(format::fp8_e4m3, {32}), b = g.input(format::fp8_e4m3, {32});
    for (const int apart : {31, 32}) {
        g.share(b, a, static_cast<std::uint64_t>(apart));
        graph_index index;
        REQUIRE(index.build(g.view()).ok());
        CHECK(may_meet(index, a, b) == (apart < 32));
        CHECK(may_meet(index, b, a) == (apart < 32));
    }
}

TEST_CASE("a step's own nodes are not in its way, but in that of the next", "[schedule]") {
    graph_builder g;
    g.other({g.input(format::f32, {512})});
    const id b = g.other({g.input(format::f32, {512})});
    const id c = g.other({g.input(format::f32, {512})});
    g.share(c, b);
    graph_index index;
    REQUIRE(index.build(g.view()).ok());
    schedule s(index);
    trial_step up;
    up.launch_at = 0;
    up.nodes = {{1, true, 0}, {2, false, 0}};
    CHECK(s.blocker(up) == -1);
    up.nodes = {{2, false, 0}};
    CHECK(s.blocker(up) == 1);
}

TEST_CASE("what is elided is in nobody's way", "[schedule]") {
    graph_builder g;
    const id a = g.other({g.input(format::f32, {512})});
    const id b = g.other({g.input(format::f32, {512})});
    const id c = g.other({g.input(format::f32, {512})});
    g.share(b, a);
    g.share(c, a);
    graph_index index;
    REQUIRE(index.build(g.view()).ok());
    trial_step up;
    up.launch_at = 0;
    up.nodes = {{2, false, 0}};
    schedule s(index);
    CHECK(s.blocker(up) == 1);
    up.nodes[0].elided = true;
    CHECK(s.blocker(up) == -1);
}

TEST_CASE("a node uses memory behind its result as the engine's, in a step it does not",
          "[schedule]") {
    graph_builder g;
    g.other({g.input(format::f32, {512})});
    const id big = g.other({g.input(format::f32, {512})});
    const id late = g.other({g.input(format::f32, {512})});
    g[big].allocated = 3 * 2048;
    g.share(late, big, 2 * 2048);
    graph_index index;
    REQUIRE(index.build(g.view()).ok());
    trial_step up;
    up.launch_at = 0;
    up.nodes = {{2, false, 0}};
    schedule s(index);
    CHECK(s.blocker(up) == 1);
    trial_step step;
    step.launch_at = 1;
    step.nodes = {{1, false, 0}};
    s.accept(step);
    CHECK(s.blocker(up) == -1);
}

TEST_CASE("a step whose result lies over what another of its nodes reads can stand nowhere",
          "[schedule]") {
    graph_builder g;
    const id x = g.input(format::f32, {512});
    const id a = g.other({x});
    const id b = g.other({a});
    g.share(b, x);
    graph_index index;
    REQUIRE(index.build(g.view()).ok());
    schedule s(index);
    trial_step both;
    both.nodes = {{0, true, 0}, {1, false, 1u}};
    CHECK(s.meets_itself(both));
    for (const std::int32_t at : {0, 1}) {
        both.launch_at = at;
        CHECK(s.blocker(both) >= 0);
    }
    SECTION("but if that comes from the step itself") {
        both.nodes[0].internal = 1u;
        CHECK_FALSE(s.meets_itself(both));
    }
    SECTION("or all of it is read before any is written") {
        both.at_once = true;
        CHECK_FALSE(s.meets_itself(both));
    }
}

TEST_CASE("a step covers no node of another, and launches only where it has its slots",
          "[schedule]") {
    graph_builder g;
    const id x = g.input(format::f32, {512});
    g.scaled_norm(x);
    g.scaled_norm(x);
    graph_index index;
    REQUIRE(index.build(g.view()).ok());
    schedule s(index);
    trial_step first;
    first.launch_at = 1;
    first.nodes = {{0, true, 0}, {1, false, 1u}};
    REQUIRE(s.blocker(first) == -1);
    s.accept(first);
    trial_step second;
    second.launch_at = 3;
    second.nodes = {{1, false, 0}, {2, true, 0}, {3, false, 1u}};
    CHECK(s.blocker(second) == 1);
    second.nodes.erase(second.nodes.begin());
    CHECK(s.blocker(second) == -1);
    second.until = 2;
    CHECK(s.blocker(second) == 3);
    second.until = 3;
    second.from = 3;
    CHECK(s.blocker(second) == -1);
    second.launch_at = 2;
    CHECK(s.blocker(second) == 2);
}
