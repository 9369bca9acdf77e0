// What attention of few tokens makes for the matrices that read it.
#include "attention_case.hpp"
#include "faults.hpp"

#include <cmath>

using namespace catena;
using namespace catena_test;

TEST_CASE("attention is quantized for the matrices that read it", "[plan][attention]") {
    for (const std::int64_t tokens : {2, 4, 8})
        for (const bool besides : {false, true}) {
            CAPTURE(tokens, besides);
            attention_case c(
                {.tokens = tokens, .heads = 4, .matrix = format::q4_K, .read_besides = besides});
            const plan p = c.planned();
            REQUIRE(covers(c, p, {c.turned_q, c.attention}));
            const step& of_matrix = c.step_of_reader(p);
            CHECK(of_matrix.what.product().needs.activation == format::q8_1);
            CHECK(p.steps().size() == 2);
            const auto& made = p.chains()[static_cast<std::size_t>(of_matrix.chain)];
            CHECK(made.made_by == c.step(p));
            std::byte workspace[1 << 15];
            const heads_args a = p.args(c.step(p), workspace).heads;
            CHECK(a.attended.q8_1 == workspace + made.workspace_offset[0]);
            CHECK((a.member[0].f32 != nullptr) == besides);
        }
}

TEST_CASE("attention of one token is quantized where its matrix cannot do that",
          "[plan][attention]") {
    for (const format matrix : {format::q4_K, format::q5_K}) {
        attention_case c({.matrix = matrix});
        const plan p = c.planned();
        REQUIRE(c.step(p) >= 0);
        const bool inside = matrix == format::q4_K;
        CHECK((c.args(p).member[0].f32 != nullptr) == inside);
        CHECK((c.step_of_reader(p).what.product().needs.activation == format::f32) == inside);
        CHECK(p.steps().size() == 2);
    }
}

TEST_CASE("attention is not quantized where nobody can read that", "[plan][attention]") {
    const auto alone = [](attention_case c, const char* why) {
        CAPTURE(why);
        const plan p = c.planned();
        CAPTURE(name(left_why(p, c.g.position(c.attention))));
        REQUIRE(c.step(p) >= 0);
        std::byte workspace[1 << 15];
        const heads_args a = p.args(c.step(p), workspace).heads;
        CHECK(a.attended.q8_1 == nullptr);
        CHECK(a.member[0].f32 == c.g[c.attention].data);
    };
    alone(attention_case{}, "no matrix");
    alone(attention_case({.tokens = 2, .matrix = format::f16}), "a matrix of float weights");
    alone(attention_case({.tokens = 2, .k = 80, .matrix = format::q8_0}),
          "heads of parts of blocks");
    attention_case of_heads;
    of_heads.g.matmul(format::q8_0, 256, of_heads.g.reshape(of_heads.attention, {128, 8}));
    alone(of_heads, "a matrix that reads single heads");
}

TEST_CASE("attention that quantizes counts for a launch that would, of several tokens",
          "[plan][attention]") {
    const auto gain = [](std::int64_t tokens) {
        attention_shape is{.tokens = tokens};
        const double read = needed_us(attention_case(is));
        is.matrix = format::q4_K;
        return read - needed_us(attention_case(is));
    };
    CHECK(gain(4) > 1);
    CHECK(std::abs(gain(1)) < 0.2);
}

TEST_CASE("attention is written for each of its readers as these read it", "[plan][attention]") {
    attention_case c({.tokens = 2, .matrix = format::q4_K});
    const id rows = c.g[c.reader].src[1];
    const id other = c.g.matmul(format::q8_0, 256, rows),
             floats = c.g.matmul(format::f16, 256, rows);
    const plan p = c.planned();
    REQUIRE(c.step(p) >= 0);
    CHECK(c.args(p).member[0].f32 == c.g[c.attention].data);
    for (const id t : {c.reader, other}) {
        const step& s = p.steps()[static_cast<std::size_t>(p.at(c.g.position(t)).step)];
        CHECK(p.chains()[static_cast<std::size_t>(s.chain)].made_by == c.step(p));
    }
    CHECK(p.at(c.g.position(floats)).step >= 0);
}

TEST_CASE("attention is written as f32 where a matrix is no leaf", "[plan][attention]") {
    attention_case c({.tokens = 2, .matrix = format::q4_K});
    const id rows = c.g[c.reader].src[1], made = c.g.input(format::q4_K, {1024, 256});
    const id product = c.g.node(op::mul_mat, format::f32, {256, 2}, {made, rows});
    const plan p = c.planned();
    REQUIRE(c.step(p) >= 0);
    CHECK(p.at(c.g.position(product)).step < 0);
    CHECK(c.args(p).member[0].f32 == c.g[c.attention].data);
    CHECK(c.step_of_reader(p).what.product().needs.activation == format::q8_1);
}

TEST_CASE("attention is written as f32 for a matrix that no row multiplies", "[plan][attention]") {
    attention_case c({.tokens = 2, .matrix = format::q4_K});
    const id other = c.g.matmul(format::q8_0, 256, c.g[c.reader].src[1]),
             weight = c.g[other].src[0];
    c.g.share(weight, weight, 1);  // at an odd byte
    const plan p = c.planned();
    REQUIRE(c.step(p) >= 0);
    CHECK(p.at(c.g.position(other)).step < 0);
    CHECK(c.args(p).member[0].f32 == c.g[c.attention].data);
    CHECK(c.step_of_reader(p).what.product().needs.activation == format::q8_1);
}

TEST_CASE("attention of one token is quantized by its matrix beside one of float weights",
          "[plan][attention]") {
    attention_case c({.matrix = format::q4_K});
    c.g.matmul(format::f16, 256, c.g[c.reader].src[1]);
    const plan p = c.planned();
    REQUIRE(c.step(p) >= 0);
    CHECK(c.step_of_reader(p).what.product().needs.activation == format::f32);
}

TEST_CASE("attention of one token is quantized where no launch could do so for its matrices",
          "[plan][attention]") {
    attention_case c({.matrix = format::q4_K});
    c.g.matmul(format::q8_0, 256, c.g[c.reader].src[1]);
    const plan p = c.planned();
    REQUIRE(c.step(p) >= 0);
    CHECK(p.steps().size() == 3);
    CHECK(c.args(p).member[0].f32 == nullptr);
}

TEST_CASE("attention quantizes for no matrix that tiles alone multiply", "[plan][attention]") {
    attention_case c({.tokens = 8, .heads = 32, .matrix = format::q4_K});
    engine_model unknown = ggml_cuda;
    unknown.attention_of_few_us = 0;
    graph_view view = c.g.view();
    view.engine = &unknown;
    const plan p = planner{tiles_table()}.plan(view);
    REQUIRE(c.step(p) >= 0);
    REQUIRE(c.step_of_reader(p).what.kind() == skeleton::matmul);
    CHECK(c.args(p).member[0].f32 == c.g[c.attention].data);
}

TEST_CASE("attention does not quantize what an engine contests", "[plan][attention]") {
    attention_case c({.tokens = 2, .matrix = format::q4_K});
    const engine_median of_another{1, 1, 1};
    table t = shipped_table();
    t.engine = &of_another;
    t.engine_count = 1;
    const plan p = proved_plan(c.g, t);
    REQUIRE(c.step(p) >= 0);
    CHECK(c.args(p).member[0].f32 == c.g[c.attention].data);
    CHECK(p.steps().size() == 3);
}
