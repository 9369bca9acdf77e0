// Norms behind matrices, as models with post-norms have them: a residual joins the norm, and the
// sum is quantized, or normed again.
#include "catena/catena.hpp"
#include "catena/match/detail/matcher.hpp"

#include "catena_test/catch.hpp"
#include "catena_test/graph_builder.hpp"

#include "takes.hpp"

using namespace catena;
using namespace catena_test;
using chain::add, chain::emit, chain::mul, chain::mul_mat, chain::next_weight, chain::quantize,
    chain::residual, chain::rms_norm, chain::weight;

namespace {

constexpr auto served = emit<format::f32> | quantize<format::q8_1> | mul_mat<format::q4_K>;
constexpr auto sum = rms_norm | mul(weight) | add(residual);
constexpr pattern joined = pattern_of(chain::lower("", sum | served));
constexpr pattern again =
    pattern_of(chain::lower("", sum | emit<format::f32> | rms_norm | mul(next_weight) | served));
static_assert(joined.known && joined.has(stage_kind::join_residual) &&
              !joined.has(stage_kind::next_norm) && !joined.has(stage_kind::add_residual));
static_assert(joined.stages.size() == 3 && joined.sum_emits.empty() &&
              joined.emits.has(format::f32));
static_assert(again.known && again.has(stage_kind::join_residual) &&
              again.has(stage_kind::next_norm) && again.stages.size() == 5);
static_assert(again.sum_emits == format_set::of(format::f32) && again.emits == again.sum_emits);
static_assert(!same_family(joined, again));

match at(graph_builder& g, const pattern& p, id node) {
    graph_index index;
    REQUIRE(index.build(g.view()).ok());
    return matcher(index, p).at(g.position(node));
}

/// The end of one block of a layer and the start of the next; `swapped`: operands of MUL and ADD.
struct block {
    graph_builder g;
    bool swapped = false;
    id x = g.input(format::f32, {512, 2}), past = g.input(format::f32, {512, 2});
    id weight_of = g.weight(format::f32, {512}), next_weight_of = g.weight(format::f32, {512});
    id norm = g.rms_norm(x, 0.5f);
    id scaled = either(op::mul, norm, weight_of);
    id sum = either(op::add, scaled, past);
    id next = g.rms_norm(sum, 0.25f);
    id value = either(op::mul, next, next_weight_of);
    id out = g.matmul(format::q4_K, 512, value);

    explicit block(bool s = false) : swapped(s) {}
    id either(op kind, id a, id b) {
        return swapped ? g.same_shape(kind, a, {b, a}) : g.same_shape(kind, a, {a, b});
    }
};

}  // namespace

TEST_CASE("a norm, its sum with a residual and the norm of that are one place", "[match]") {
    block b{GENERATE(false, true)};
    const match m = at(b.g, again, b.norm);
    REQUIRE(m.found());
    CHECK(m.stages.has(stage_kind::join_residual));
    CHECK(m.reads[operand::x].tensor == b.x);
    CHECK(m.reads[operand::residual].tensor == b.past);
    CHECK(m.reads[operand::weight].tensor == b.weight_of);
    CHECK(m.reads[operand::next_weight].tensor == b.next_weight_of);
    CHECK(m.params.eps == 0.5f);
    CHECK(m.params.next_eps == 0.25f);
    CHECK(node_of(m, stage_kind::mul_weight) == b.g.position(b.scaled));
    CHECK(m.sum == b.g.position(b.sum));
    CHECK(node_of(m, stage_kind::next_norm) == b.g.position(b.next));
    CHECK(node_of(m, stage_kind::mul_next_weight) == b.g.position(b.value));
    CHECK(m.activation == b.value);
    CHECK_FALSE(m.sum_needed);
    CHECK(m.servable() == 1);
}

TEST_CASE("the sum is written for whoever else may read it", "[match]") {
    block read, watched, result;
    read.g.add(read.sum, read.out);
    watched.g.read_outside(watched.sum);
    result.g[result.sum].flags |= flag_output;
    for (block* b : {&read, &watched, &result}) {
        const match m = at(b->g, again, b->norm);
        REQUIRE(m.found());
        CHECK(m.sum_needed);
    }
}

TEST_CASE("a sum that matrices read is the value of a place", "[match]") {
    block b{GENERATE(false, true)};
    const id q = b.g.matmul(format::q4_K, 64, b.sum);
    const match m = at(b.g, joined, b.norm);
    REQUIRE(m.found());
    CHECK(m.stages.has(stage_kind::join_residual));
    CHECK(m.activation == b.sum);
    CHECK(node_of(m, stage_kind::next_norm) == -1);
    CHECK(m.f32_needed);  // for the norm
    CHECK(m.servable() == 1);
    CHECK(m.readers.back().node == b.g.position(q));
}

TEST_CASE("the sum may be times a number in memory", "[match]") {
    graph_builder g;
    const id norm = g.rms_norm(g.input(format::f32, {512, 2}));
    const id scaled = g.mul(norm, g.weight(format::f32, {512}));
    const id sum_of = g.add(scaled, g.input(format::f32, {512, 2}));
    const bool constant = GENERATE(true, false);
    const id factor = constant ? g.weight(format::f32, {1}) : g.input(format::f32, {1});
    const id product = g.mul(sum_of, factor);
    const id value = g.scaled_norm(product);
    g.other({g.matmul(format::q4_K, 64, value), g.matmul(format::q4_K, 64, product)});
    const match m = at(g, joined, norm), next = at(g, again, norm);
    REQUIRE(m.found());
    CHECK(m.activation == (constant ? product : sum_of));
    CHECK(m.reads[operand::factor].tensor == (constant ? factor : no_tensor));
    CHECK(next.found() == constant);
    if (!constant) return;
    CHECK(next.sum == g.position(product));
    CHECK(next.activation == value);
    CHECK(next.sum_needed);
}

TEST_CASE("a sum times a vector is left to others", "[match]") {
    graph_builder g;
    const id norm = g.rms_norm(g.input(format::f32, {512, 2}));
    const id scaled = g.mul(norm, g.weight(format::f32, {512}));
    const id sum_of = g.add(scaled, g.input(format::f32, {512, 2}));
    const id product = g.mul(sum_of, g.weight(format::f32, {512}));
    g.other({g.matmul(format::q4_K, 64, product)});
    CHECK(at(g, joined, norm).activation == sum_of);
}

TEST_CASE("a sum that somebody reads before it is multiplied is not multiplied", "[match]") {
    graph_builder g;
    const id norm = g.rms_norm(g.input(format::f32, {512, 2}));
    const id scaled = g.mul(norm, g.weight(format::f32, {512}));
    const id sum_of = g.add(scaled, g.input(format::f32, {512, 2}));
    g.other({g.mul(sum_of, g.weight(format::f32, {1})), sum_of});
    const match m = at(g, joined, norm);
    REQUIRE(m.found());
    CHECK(m.activation == sum_of);
    CHECK(m.reads[operand::factor].tensor == no_tensor);
}

TEST_CASE("a norm that is read besides, or to which no tensor of its shape is added, is not joined",
          "[match]") {
    block read, watched;
    read.g.other({read.scaled});
    watched.g.read_outside(watched.scaled);
    for (block* b : {&read, &watched}) {
        CHECK(at(b->g, joined, b->norm).why.why == reason::unjoined);
        CHECK(at(b->g, again, b->norm).why.why == reason::unjoined);
    }
    graph_builder g;
    const id norm = g.rms_norm(g.input(format::f32, {512, 2}));
    const id scaled = g.mul(norm, g.weight(format::f32, {512}));
    g.matmul(format::q4_K, 64, g.add(scaled, g.weight(format::f32, {512})));
    CHECK(at(g, joined, norm).why.why == reason::unjoined);
}

TEST_CASE("of the norms of a sum the first with a weight is made", "[match]") {
    graph_builder g;
    const id norm = g.rms_norm(g.input(format::f32, {512, 2}));
    const id scaled = g.mul(norm, g.weight(format::f32, {512}));
    const id sum_of = g.add(scaled, g.input(format::f32, {512, 2}));
    CHECK(at(g, again, norm).why.why == reason::not_normed_again);
    g.matmul(format::q4_K, 64, g.rms_norm(sum_of));
    CHECK(at(g, again, norm).why.why == reason::unscaled);
    const id value = g.scaled_norm(g.reshape(sum_of, {512, 2, 1}));
    g.matmul(format::q4_K, 64, value);
    g.matmul(format::q4_K, 64, g.scaled_norm(sum_of));
    const match m = at(g, again, norm);
    REQUIRE(m.found());
    CHECK(m.activation == value);
    CHECK(m.sum_needed);
}

TEST_CASE("rows that are cut otherwise are not normed again", "[match]") {
    graph_builder g;
    const id norm = g.rms_norm(g.input(format::f32, {512, 2}));
    const id scaled = g.mul(norm, g.weight(format::f32, {512}));
    const id sum_of = g.add(scaled, g.input(format::f32, {512, 2}));
    g.matmul(format::q4_K, 64, g.scaled_norm(g.reshape(sum_of, {256, 4})));
    CHECK(at(g, again, norm).why.why == reason::reshaped);
}
