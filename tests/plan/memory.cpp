// Row steps whose operands share memory.
#include "cases.hpp"

using namespace catena;
using namespace catena_test;

namespace {

struct residual_case {
    graph_builder g;
    id x = g.other({g.input(format::f32, {512, 2})});
    id r = g.other({g.input(format::f32, {512, 2})});
    id sum = g.add(x, r);
    id norm = g.rms_norm(sum);
    id mul = g.mul(norm, g.weight(format::f32, {512}));
    id out = g.matmul(format::q4_K, 64, mul);

    residual_case() {  // both the sum and the value are read by the engine too
        g.other({mul});
        g.other({sum});
    }
};

}  // namespace

TEST_CASE("outputs may lie exactly over inputs", "[plan][memory]") {
    residual_case c;
    SECTION("nothing shares memory") {}
    SECTION("the sum over x") { c.g.share(c.sum, c.x); }
    SECTION("the sum over the residual") { c.g.share(c.sum, c.r); }
    SECTION("the value over x") { c.g.share(c.mul, c.x); }
    SECTION("the sum over x, the value over the residual") {
        c.g.share(c.sum, c.x);
        c.g.share(c.mul, c.r);
    }
    CHECK(steps_of(checked_plan(c.g)) == "4: 2 3 4, 5: 5");
}

TEST_CASE("an output that lies over part of an input keeps the ADD out", "[plan][memory]") {
    residual_case c;
    c.g.share(c.mul, c.r, -2048);
    const plan p = checked_plan(c.g);
    CHECK(steps_of(p) == "4: 3 4, 5: 5");
    CHECK(left_why(p, 2) == reason::overlap);
    CHECK(p.at(2).role == role::engine);
}

TEST_CASE("rows that are strided differently are not element upon element", "[plan][memory]") {
    residual_case c;
    c.g[c.x].nb[1] = 4096;
    c.g[c.x].nb[2] = c.g[c.x].nb[3] = 8192;
    c.g.share(c.x, c.g.input(format::f32, {1024, 2}));
    c.g.share(c.sum, c.x);
    CHECK(steps_of(checked_plan(c.g)) == "4: 3 4, 5: 5");
}

TEST_CASE("a node between ADD and norm that reads the sum moves the step up", "[plan][memory]") {
    graph_builder g;
    const id x = g.input(format::f32, {512});
    const id sum = g.add(x, g.input(format::f32, {512}));
    g.other({sum});
    const id mul = g.scaled_norm(sum);
    g.matmul(format::q4_K, 64, mul);
    const plan p = checked_plan(g);
    CHECK(steps_of(p) == "0: 0 2 3, 4: 4");
    CHECK(p.at(0).role == role::launch);
}

TEST_CASE("a node that blocks every position leaves the ADD to the engine", "[plan][memory]") {
    graph_builder g;
    const id x = g.input(format::f32, {512});
    const id sum = g.add(x, g.input(format::f32, {512}));
    const id between = g.other({sum});
    const id mul = g.scaled_norm(sum);
    g.matmul(format::q4_K, 64, mul);
    g.other({mul});
    g.share(mul, between);  // written and dead before the MUL
    CHECK(steps_of(checked_plan(g)) == "3: 2 3, 4: 4");
}

TEST_CASE("an input that is overwritten between norm and MUL is read in time", "[plan][memory]") {
    norm_case c;
    const id thief = c.g.other({c.g.input(format::f32, {512})});
    std::swap(c.g.nodes[1], c.g.nodes[2]);
    c.g.share(thief, c.x);
    c.g.matmul(format::q4_K, 64, c.mul);
    CHECK(steps_of(checked_plan(c.g)) == "0: 0 2, 3: 3");
}

TEST_CASE("a step does not move over what another step moved", "[plan][memory]") {
    // The last matmul is hoisted to the first reader of its activation. Its result takes the memory
    // of x, so the norm of x, whose MUL stands behind that reader, must not wait for its MUL.
    graph_builder g;
    const id early = g.scaled_norm(g.input(format::f32, {512}));
    const id x = g.other({g.input(format::f32, {512})});
    const id norm = g.rms_norm(x);
    g.matmul(format::q4_K, 64, early);
    const id mul = g.mul(norm, g.weight(format::f32, {512}));
    g.matmul(format::q4_K, 64, mul);
    const id late = g.matmul(format::q4_K, 512, early);
    g.share(late, x);
    CHECK(steps_of(checked_plan(g)) == "1: 0 1, 3: 3 5, 4: 4 7, 6: 6");
}

namespace {

/// x -> norm -> q -> attention -> out; the norm -> up. `up` takes memory behind attention's result,
/// which nobody needs any more.
struct scratch_case : norm_case {
    id q = g.matmul(format::q4_K, 512, mul);
    id attention = g.same_shape(op::flash_attn_ext, q, {q});
    id out = g.other({attention});
    id up = g.matmul(format::q4_K, 512, mul);

    scratch_case() { g.share(up, attention, 4096); }
};

}  // namespace

TEST_CASE("what an engine's node uses as scratch is not written before that node",
          "[plan][memory]") {
    scratch_case c;
    CHECK(steps_of(checked_plan(c.g)) == "1: 0 1, 2: 2 5");
    SECTION("by buffer and offset") {
        c.g[c.attention].allocated = 8192;
        const plan p = checked_plan(c.g);
        CHECK(steps_of(p) == "1: 0 1, 2: 2, 5: 5");
        CHECK(left_why(p, 5) == reason::group_split);
    }
    SECTION("by address") {
        c.g[c.attention].allocated = 8192;
        for (const id t : {c.up, c.attention}) c.g[t].buffer = no_buffer;
        const plan p = planner(toy_table()).plan(c.g.view());
        CHECK(steps_of(p) == "1: 0 1, 2: 2, 5: 5");
    }
    SECTION("scratch that ends where the result begins is no obstacle") {
        c.g[c.attention].allocated = 4096;
        CHECK(steps_of(checked_plan(c.g)) == "1: 0 1, 2: 2 5");
    }
}

TEST_CASE("an input is read before an engine's node uses its memory as scratch", "[plan][memory]") {
    norm_case c;
    const id thief = c.g.other({c.g.input(format::f32, {512})});
    std::swap(c.g.nodes[1], c.g.nodes[2]);
    c.g.share(c.x, thief, 2048);
    c.g[thief].allocated = 2048 + 256;
    c.g.matmul(format::q4_K, 64, c.mul);
    CHECK(steps_of(checked_plan(c.g)) == "0: 0 2, 3: 3");
}

TEST_CASE("no step writes rows that lie over each other", "[plan][memory]") {
    residual_case c;
    SECTION("of a matmul") {
        c.g[c.out].nb[1] = 4;
        const plan p = checked_plan(c.g);
        CHECK(p.at(5).step < 0);
        CHECK(left_why(p, 5) == reason::overlaps_itself);
    }
    SECTION("of a sum") {
        c.g[c.sum].nb[1] = 1024;
        CHECK(steps_of(checked_plan(c.g)) == "4: 3 4, 5: 5");
    }
    SECTION("of a scaled norm") {
        c.g[c.mul].nb[1] = 1024;
        const plan p = checked_plan(c.g);
        CHECK(steps_of(p) == "5:, 5: 5");
        CHECK(left_why(p, 3) == reason::overlaps_itself);
        for (const left_over& l : p.left())
            if (l.what.node == 3) CHECK(l.what.have == c.mul);
    }
}

TEST_CASE("rows that lie over each other may be read", "[plan][memory]") {
    residual_case c;
    SECTION("one row for all") { c.g[c.x].nb[1] = 0; }
    SECTION("windows") { c.g[c.x].nb[1] = 256; }
    CHECK(steps_of(checked_plan(c.g)) == "4: 2 3 4, 5: 5");
}
