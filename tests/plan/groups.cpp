// Which matmuls share a launch, and what keeps them apart.
#include "cases.hpp"
#include "faults.hpp"

#include "catena/instances/sm_90.hpp"
#include "catena/pick/config.hpp"
#include "catena/plan/verify.hpp"

using namespace catena;
using namespace catena_test;

namespace {

/// Q, (norm, rope), V, K as engines write them: nodes 2, 3, 4, 5.
struct qkv_case : norm_case {
    id q = g.matmul(format::q4_K, 64, mul);
    id rope = g.other({q});
    id v = g.matmul(format::q6_K, 64, mul);
    id k = g.matmul(format::q4_K, 64, mul);
};

}  // namespace

TEST_CASE("members that are not adjacent are hoisted to the first", "[plan][group]") {
    qkv_case c;
    CHECK(steps_of(checked_plan(c.g)) == "1: 0 1, 2: 2 4 5");
}

TEST_CASE("a member whose result lies where a node between reads stays where it is",
          "[plan][group]") {
    qkv_case c;
    c.g.share(c.k, c.q);  // the ROPE reads Q, then K takes its memory
    const plan p = checked_plan(c.g);
    CHECK(steps_of(p) == "1: 0 1, 2: 2 4, 5: 5");
    CHECK(left_why(p, 5) == reason::group_split);
    REQUIRE(p.left().size() == 1);
    CHECK(p.left()[0].what.have == 3);
}

TEST_CASE("a member whose result lies where a node between writes stays where it is",
          "[plan][group]") {
    qkv_case c;
    const id other = c.g.other({c.x});
    std::swap(c.g.nodes[3], c.g.nodes[6]);  // ... and is dead before V
    c.g.share(c.v, other);
    CHECK(steps_of(checked_plan(c.g)) == "1: 0 1, 2: 2 5, 4: 4");
}

TEST_CASE("a reader on another stream does not say how long the rows of the others are",
          "[plan][group]") {
    graph_builder g;
    const id mul = g.scaled_norm(g.input(format::f32, {512, 4}));
    const id elsewhere = g.matmul(format::q4_K, 64, mul);
    g[elsewhere].stream = 1;
    g.matmul(format::q4_K, 64, g.reshape(mul, {1024, 2}));
    const plan p = checked_plan(g);
    CHECK(steps_of(p) == "1: 0 1, 2:, 2: 2, 4: 4");
    CHECK(p.chains()[0].workspace_bytes == 2560);  // 2304, and room for squares of a norm
}

TEST_CASE("two members that were given the same memory do not run together", "[plan][group]") {
    norm_case c;
    const id first = c.g.matmul(format::q4_K, 64, c.mul);
    const id second = c.g.matmul(format::q4_K, 64, c.mul);
    c.g.share(second, first, 128);  // half of it
    CHECK(steps_of(checked_plan(c.g)) == "1: 0 1, 2: 2, 3: 3");
    const id third = c.g.matmul(format::q4_K, 64, c.mul);
    c.g.share(third, first, 64);
    const plan p = checked_plan(c.g);
    CHECK(steps_of(p) == "1: 0 1, 2: 2, 3: 3, 4: 4");
    CHECK(p.left().size() == 2);  // once each, although it was tried twice
}

TEST_CASE("memory that is only next to another's does not keep members apart", "[plan][group]") {
    norm_case c;
    const id q = c.g.matmul(format::q4_K, 32, c.mul);
    c.g.other({q});
    const id k = c.g.matmul(format::q4_K, 32, c.mul);
    c.g.share(k, q, 128);
    CHECK(steps_of(checked_plan(c.g)) == "1: 0 1, 2: 2 4");
    c.g.share(k, q, 124);
    CHECK(steps_of(checked_plan(c.g)) == "1: 0 1, 2: 2, 4: 4");
}

TEST_CASE("an offset in another buffer is another place", "[plan][group]") {
    qkv_case c;
    c.g.share(c.k, c.q);
    c.g[c.k].buffer = 7;
    c.g[c.k].data = reinterpret_cast<void*>(9ull << 40);
    CHECK(steps_of(checked_plan(c.g)) == "1: 0 1, 2: 2 4 5");
}

TEST_CASE("f32 that was elided keeps nobody apart", "[plan][group]") {
    // V lies where the norm's result was; nobody reads that once all are fused.
    qkv_case c;
    c.g.share(c.v, c.mul);
    std::swap(c.g.nodes[4], c.g.nodes[5]);
    CHECK(steps_of(checked_plan(c.g)) == "1: 0 1, 2: 2 4 5");
}

TEST_CASE("a norm that is never written keeps nobody apart, whichever argument of its MUL it is",
          "[plan][group]") {
    const bool swapped = GENERATE(false, true);
    graph_builder g;
    const id norm = g.rms_norm(g.input(format::f32, {512}));
    const id other = g.scaled_norm(g.input(format::f32, {512}));
    g.matmul(format::q4_K, 64, other);
    const id w = g.weight(format::f32, {512});
    const id mul = swapped ? g.mul(w, norm) : g.mul(norm, w);
    g.matmul(format::q4_K, 64, mul);
    g.share(g.matmul(format::q4_K, 512, other), norm);
    CHECK(steps_of(checked_plan(g)) == "2: 1 2, 3: 3 6, 4: 0 4, 5: 5");
}

TEST_CASE("f32 that is still read keeps its memory", "[plan][group]") {
    norm_case c;
    const id q = c.g.matmul(format::q4_K, 64, c.mul);
    c.g.other({q, c.mul});
    const id k = c.g.matmul(format::q4_K, 64, c.mul);
    c.g.share(k, c.mul);
    CHECK(steps_of(checked_plan(c.g)) == "1: 0 1, 2: 2, 4: 4");
}

TEST_CASE("a set that is not listed splits into listed ones", "[plan][group]") {
    norm_case c;
    c.g.matmul(format::q8_0, 64, c.mul);
    c.g.matmul(format::q4_K, 64, c.mul);
    c.g.matmul(format::q6_K, 64, c.mul);
    const plan p = checked_plan(c.g);
    CHECK(steps_of(p) == "1: 0 1, 2: 2, 3: 3 4");
    CHECK(p.chains().size() == 1);
    CHECK(p.chains()[0].chain == 1);  // the chain that lists most of what it serves
}

TEST_CASE("more matrices than a launch can hold are dealt to several", "[plan][group]") {
    norm_case c;
    for (int i = 0; i < max_members + 2; ++i) c.g.matmul(format::q4_K, 64, c.mul);
    const plan p = checked_plan(c.g);
    REQUIRE(p.steps().size() == 3);
    CHECK(p.covered(p.steps()[1]).size() == max_members);
    CHECK(p.covered(p.steps()[2]).size() == 2);
}

namespace {

/// A dense matmul between experts of one set of ids, nodes 3, 4, 5; behind them those of another.
struct experts_beside {
    graph_builder g;
    id ids;

    explicit experts_beside(std::int64_t tokens, bool dense_first = false,
                            std::int64_t dense_rows = 96) {
        const id mul = g.scaled_norm(g.input(format::f32, {512, tokens}));
        const id wide = g.reshape(mul, {512, 1, tokens});
        ids = g.input(format::i32, {2, tokens});
        const id other_ids = g.input(format::i32, {2, tokens});
        const auto experts = [&](id by) {
            g.mul_mat_id(g.weight(format::q4_K, {512, 64, 8}), wide, by);
        };
        if (!dense_first) experts(ids);
        g.matmul(format::q4_K, dense_rows, mul);
        if (dense_first) experts(ids);
        experts(ids);
        experts(other_ids);
    }
};

}  // namespace

TEST_CASE("experts of one set of ids run together, with dense ones behind them", "[plan][group]") {
    const std::int64_t tokens = GENERATE(1, 2, 3);
    for (const bool dense_first : {false, true}) {
        experts_beside c(tokens, dense_first);
        plan p = checked_plan(c.g, instances::sm_90());
        CHECK(steps_of(p) == (dense_first ? "1: 0 1, 4: 3 4 5, 6: 6" : "1: 0 1, 3: 3 4 5, 6: 6"));
        const matvec_args a = p.args(1, nullptr).matvec;
        CHECK(a.ids == c.g[c.ids].data);
        CHECK(a.slots == 2);
        CHECK(a.x_slots == 1);
        CHECK(a.columns == 2 * tokens);
        REQUIRE(a.members == 3);
        CHECK(a.member[0].experts == 8);
        CHECK(a.member[1].experts == 8);
        CHECK(a.member[2].experts == 0);
        CHECK(a.member[2].rows == 96);
        CHECK(a.bands == a.member[2].first_band);
        const step& s = p.steps()[1];
        const int dense = bands_of(s.what.product().member[2], s.band_rows);
        CHECK(a.dense_bands == dense);
        CHECK(s.config.blocks == static_cast<unsigned>(tokens * (2 * a.bands + dense)));
        CHECK(a.member[2].dst_nb2 == 96 * 4);
        CHECK(s.bytes == bytes_of(s.what));
        const std::int64_t row = row_bytes(format::q4_K, 512);
        const int rows[] = {2 * 128, 448, 592};  // of 2, 3.5 and 4.625 of 8 experts
        CHECK(s.bytes == tokens * q8_1_row_bytes(512) + (rows[tokens - 1] + 96) * row +
                             (2 * 2 * 64 + 96) * tokens * 4);
        ++plan_faults{p}.head(1).dense_bands;
        CHECK(verify(c.g.view(), p).state.code == status_code::wrong_plan);
    }
}

TEST_CASE("of several tokens experts run apart from dense ones that take less time so",
          "[plan][group]") {
    options asked;
    std::int64_t tokens = 8, rows = 8192;
    SECTION("each token would read many rows again") {}
    SECTION("bits must not depend on the tokens") {
        tokens = 2, rows = 96;
        asked.pick.same_bits = true;
    }
    experts_beside c(tokens, false, rows);
    CHECK(steps_of(checked_plan(c.g, instances::sm_90(), asked)) == "1: 0 1, 3: 3 5, 4: 4, 6: 6");
}

TEST_CASE("experts are not hoisted past the node that makes their ids", "[plan][group]") {
    norm_case c;
    const id wide = c.g.reshape(c.mul, {512, 1, 1});
    const id ids = c.g.node(op::argsort, format::i32, {2, 1}, {c.x});
    const id w = c.g.weight(format::q4_K, {512, 64, 8});
    const id first = c.g.mul_mat_id(w, wide, ids);
    const id again = c.g.node(op::argsort, format::i32, {2, 1}, {first});
    c.g.rename(again, ids);  // the ids themselves change between the two
    c.g.mul_mat_id(c.g.weight(format::q4_K, {512, 64, 8}), wide, ids);
    CHECK(steps_of(checked_plan(c.g)) == "1: 0 1, 4: 4, 6: 6");
}

TEST_CASE("before allocation only lifetimes speak", "[plan][group]") {
    qkv_case c;
    c.g.other({c.rope, c.v});
    c.g.other({c.rope, c.k});
    c.g.deallocate();
    const graph_view view = c.g.view();
    const plan p = planner(toy_table()).plan(view);
    CHECK(inconsistency(view, p) == "");
    // Q dies at the ROPE: V or K could be given its memory. V and K live side by side.
    CHECK(steps_of(p) == "1: 0 1, 2: 2, 4: 4 5");
}
