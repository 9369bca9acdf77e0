// Values that steps leave in the workspace only: nobody reads one before it is there, and no reader
// is forgotten.
#include "epilogue_cases.hpp"

using namespace catena;
using namespace catena_test;

TEST_CASE("a launch that waits for a residual does not quantize for who reads before",
          "[unwritten]") {
    const std::int64_t columns = GENERATE(1, 40);
    graph_builder g;
    const id x = g.input(format::f32, {512, columns});
    const id mul = g.scaled_norm(x);
    const id sum = g.matmul(format::q4_K, 512, mul);
    const id made = g.matmul(format::q4_K, 256, mul);
    const id reader = g.matmul(format::q6_K, 512, made);
    g.add(sum, g.other({x}));
    const plan p = planned(g);
    CHECK(steps_of(p) == "1: 0 1, 3: 3, 4: 4, 6: 2 6");
    CHECK(p.at(g.position(made)).elided);  // by a launch of its own, before the reader's
    CHECK(left_why(p, g.position(made)) == reason::group_split);
    CHECK(p.at(g.position(reader)).step == 2);
}

TEST_CASE("gate and up stay one step where another matmul has taken the sum behind them",
          "[unwritten]") {
    graph_builder g;
    const id other = g.matmul(format::q4_K, 256, g.scaled_norm(g.input(format::f32, {512})));
    const id mul = g.scaled_norm(g.input(format::f32, {512}));
    const id gate = g.matmul(format::q4_K, 256, mul);
    const id up = g.matmul(format::q4_K, 256, mul);
    g.add(g.glu(gate, up), other);
    const plan p = planned(g);
    CHECK(steps_of(p) == "1: 0 1, 4: 3 4, 5: 5 6 7, 8: 2 8");
    CHECK(p.at(g.position(mul)).elided);
}

TEST_CASE("both halves of a matrix are as aligned as a row asks", "[unwritten]") {
    norm_case c;
    const id both = c.g.matmul(format::q6_K, 4, c.mul);
    const id weight = c.g[both].src[0];
    c.g.share(weight, weight, 8);  // two rows of 420 bytes further on, the up half is at 16
    c.g.glu_of_halves(both);
    const plan p = planned(c.g);
    REQUIRE(steps_of(p) == "1: 0 1, 2: 2 3");
    CHECK(p.steps()[1].what.product().alignment == 8);
}
