#include "catena/plan/schedule.hpp"

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

    move hoist;
    hoist.launch_at = 1;
    hoist.nodes = {{3, false, 0}};
    SECTION("as an engine node it reads x") {
        CHECK(schedule(index).blocker(hoist) == g.position(reader));
    }
    SECTION("as a step it reads the workspace, and its row step reads x") {
        schedule s(index);
        move row;
        row.launch_at = 2;
        s.accept(row);
        move group;
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

TEST_CASE("a step's own nodes are not in its way, but in that of the next", "[schedule]") {
    graph_builder g;
    g.other({g.input(format::f32, {512})});
    const id b = g.other({g.input(format::f32, {512})});
    const id c = g.other({g.input(format::f32, {512})});
    g.share(c, b);
    graph_index index;
    REQUIRE(index.build(g.view()).ok());
    schedule s(index);
    move up;
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
    move up;
    up.launch_at = 0;
    up.nodes = {{2, false, 0}};
    schedule s(index);
    CHECK(s.blocker(up) == 1);
    up.nodes[0].elided = true;
    CHECK(s.blocker(up) == -1);
}
