// Norms with a bias or a gate behind them, layer norms, and functions of one tensor.
#include "catena/catena.hpp"
#include "catena/match/detail/matcher.hpp"

#include "catena_test/catch.hpp"
#include "catena_test/graph_builder.hpp"

#include "takes.hpp"

using namespace catena;
using namespace catena_test;
using chain::act, chain::add, chain::bias, chain::emit, chain::glu, chain::layer_norm, chain::mul,
    chain::mul_mat, chain::quantize, chain::rms_norm, chain::scale, chain::weight;

namespace {

constexpr auto served = emit<format::f32> | quantize<format::q8_1> | mul_mat<format::q4_K>;
constexpr pattern gated_norm = pattern_of(chain::lower("", rms_norm | mul(weight) | glu | served));
constexpr pattern gated_bare_norm = pattern_of(chain::lower("", rms_norm | glu | served));
constexpr pattern bare_norm = pattern_of(chain::lower("", rms_norm | served));
constexpr pattern scaled_layer_norm =
    pattern_of(chain::lower("", layer_norm | mul(weight) | served));
constexpr pattern product = pattern_of(chain::lower("", glu | served));
constexpr pattern biased_norm =
    pattern_of(chain::lower("", layer_norm | mul(weight) | add(bias) | served));
constexpr pattern function = pattern_of(chain::lower("", act | served));
constexpr pattern scaled_norm =
    pattern_of(chain::lower("", mul(scale) | emit<format::f32> | rms_norm | mul(weight) | served));
static_assert(scaled_norm.known && scaled_norm.sum_emits == format_set::of(format::f32));
static_assert(gated_norm.known && gated_norm.has(stage_kind::gate) &&
              gated_norm.stages.size() == 3);
static_assert(biased_norm.known && biased_norm.has(stage_kind::add_bias) &&
              !biased_norm.has(stage_kind::gate));
static_assert(function.known && function.alone && function.stages.size() == 1);
static_assert(!same_family(gated_norm, biased_norm));

match at(graph_builder& g, const pattern& p, id node) {
    graph_index index;
    REQUIRE(index.build(g.view()).ok());
    const matcher m(index, p);
    return m.at(g.position(node));
}

/// Heads of 128, normed, scaled and gated; 4 of them make a row of the matmul's activation.
struct heads {
    graph_builder g;
    id x = g.input(format::f32, {128, 4, 3});
    id z = g.input(format::f32, {512, 3});
    id norm = g.rms_norm(x);
    id scaled = g.mul(norm, g.weight(format::f32, {128}));
    id silu = g.unary(g.reshape(z, {128, 4, 3}), sub_op::silu);
    id value = g.mul(scaled, silu);
    id out = g.matmul(format::q4_K, 64, g.reshape(value, {512, 3}));
};

struct biased {
    graph_builder g;
    id x = g.input(format::f32, {512, 2});
    id norm = g.same_shape(op::norm, x, {x});
    id scaled = g.mul(norm, g.weight(format::f32, {512}));
    id bias_of = g.weight(format::f32, {512});
    id value = g.add(scaled, bias_of);
    id out = g.matmul(format::q4_K, 64, value);
};

}  // namespace

TEST_CASE("a SCALE may stand before a norm, and what it makes may go on as a sum does", "[match]") {
    graph_builder g;
    const id x = g.input(format::f32, {512, 2});
    const id scaled = g.scale(x, 50.5f);
    const id norm = g.rms_norm(scaled);
    g.matmul(format::q4_K, 64, g.mul(norm, g.weight(format::f32, {512})));
    reason expected = reason::none;
    bool read = false;
    SECTION("for the norm alone") {}
    SECTION("for a residual too") { g.other({scaled}), read = true; }
    SECTION("not with a sum") { g[scaled].params[1] = 1, expected = reason::no_scale; }
    const match m = at(g, scaled_norm, norm);
    REQUIRE(m.why.why == expected);
    if (expected != reason::none) return;
    CHECK(m.reads[operand::x].tensor == x);
    CHECK(m.params.x_scale == 50.5f);
    CHECK(takes(m, g.position(scaled)));
    CHECK(m.sum == g.position(scaled));
    CHECK(m.sum_needed == read);
}

TEST_CASE("a norm whose result is gated is a place with the gate's operand", "[match]") {
    heads h;
    const match m = at(h.g, gated_norm, h.norm);
    REQUIRE(m.found());
    CHECK(m.stages.has(stage_kind::rms_norm));
    CHECK(m.reads[operand::x].tensor == h.x);
    CHECK(h.g.view().at(m.reads[operand::gate].tensor).view_src == h.z);
    CHECK(m.params.function == gate_function::silu);
    CHECK(node_of(m, stage_kind::gate) == h.g.position(h.value));
    CHECK(takes(m, h.g.position(h.silu)));
    CHECK(m.activation == h.value);
    CHECK(m.quant_k == 512);
    CHECK(m.servable() == 1);
}

TEST_CASE("a norm that is read besides, or not gated, is no gated norm", "[match]") {
    heads twice;
    twice.g.other({twice.scaled});
    CHECK(at(twice.g, gated_norm, twice.norm).why.why == reason::ungated);
    heads watched;
    watched.g.read_outside(watched.scaled);
    CHECK(at(watched.g, gated_norm, watched.norm).why.why == reason::ungated);
    graph_builder g;
    const id norm = g.rms_norm(g.input(format::f32, {512}));
    const id scaled = g.mul(norm, g.weight(format::f32, {512}));
    g.matmul(format::q4_K, 64, g.mul(scaled, g.input(format::f32, {1})));
    CHECK(at(g, gated_norm, norm).why.why == reason::ungated);
}

TEST_CASE("a norm that is multiplied with another value is gated by it", "[match]") {
    graph_builder g;
    const id x = g.input(format::f32, {512, 2}), other = g.input(format::f32, {512, 2});
    const bool second = GENERATE(false, true);
    const id norm = g.rms_norm(x);
    const id scaled = g.mul(norm, g.weight(format::f32, {512}));
    const id value = second ? g.mul(other, scaled) : g.mul(scaled, other);
    g.matmul(format::q4_K, 64, value);
    const match m = at(g, gated_norm, norm);
    REQUIRE(m.found());
    CHECK(m.reads[operand::gate].tensor == other);
    CHECK(m.params.function == gate_function::none);
    CHECK(m.activation == value);
}

TEST_CASE("a norm whose weight has a row for each group of heads is gated by it", "[match]") {
    graph_builder g;
    const id norm = g.rms_norm(g.input(format::f32, {128, 4, 3}));
    const id weight_of = g.weight(format::f32, {128, 4});
    const id value = g.mul(norm, weight_of);
    g.matmul(format::q4_K, 64, g.reshape(value, {512, 3}));
    const match m = at(g, gated_bare_norm, norm);
    REQUIRE(m.found());
    CHECK(m.reads[operand::gate].tensor == weight_of);
    CHECK(m.reads[operand::gate].at.nb1 == 512);
    CHECK(m.reads[operand::gate].at.nb2 == 0);  // the same rows for every column
    CHECK(m.quant_k == 512);
}

TEST_CASE("a norm without a weight, or a layer norm without a bias, is a place", "[match]") {
    graph_builder g;
    const id x = g.input(format::f32, {512, 2});
    const id bare = g.rms_norm(x);
    g.matmul(format::q4_K, 64, bare);
    const match m = at(g, bare_norm, bare);
    REQUIRE(m.found());
    CHECK(m.reads[operand::weight].tensor == no_tensor);
    CHECK(m.activation == bare);
    const id norm = g.same_shape(op::norm, x, {x});
    const id scaled = g.mul(norm, g.weight(format::f32, {512}));
    g.matmul(format::q4_K, 64, scaled);
    const match l = at(g, scaled_layer_norm, norm);
    REQUIRE(l.found());
    CHECK(l.stages.has(stage_kind::layer_norm));
    CHECK(l.reads[operand::bias].tensor == no_tensor);
    CHECK(l.activation == scaled);
}

TEST_CASE("a product of rows that a quantized matmul reads is a gated value", "[match]") {
    graph_builder g;
    const id x = g.input(format::f32, {512, 3}), y = g.input(format::f32, {512});
    const id value = g.mul(x, y);
    g.matmul(format::q4_K, 64, value);
    const match m = at(g, product, value);
    REQUIRE(m.found());
    CHECK(m.reads[operand::x].tensor == x);
    CHECK(m.reads[operand::gate].tensor == y);
    CHECK(m.reads[operand::gate].at.nb1 == 0);
    CHECK(m.params.function == gate_function::none);
    const id unread = g.mul(x, g.input(format::f32, {512, 3}));
    g.other({unread});
    CHECK(at(g, product, unread).why.why == reason::no_gate);
    const id by_number = g.mul(x, g.input(format::f32, {1, 3}));
    g.matmul(format::q4_K, 64, by_number);
    CHECK(at(g, product, by_number).why.why == reason::no_gate);
    const id square = g.mul(x, x);
    g.matmul(format::q4_K, 64, square);
    CHECK(at(g, product, square).why.why == reason::no_gate);
}

TEST_CASE("a gate of one number for each head has not the shape of what it gates", "[match]") {
    graph_builder g;
    const id x = g.input(format::f32, {128, 4}), z = g.input(format::f32, {1, 4});
    const id value = g.mul(x, g.unary(z, sub_op::sigmoid));
    g.matmul(format::q4_K, 64, g.reshape(value, {512}));
    CHECK(at(g, product, value).why.why == reason::gate_shape);
}

TEST_CASE("a layer norm with weight and bias is a place", "[match]") {
    biased b;
    const match m = at(b.g, biased_norm, b.norm);
    REQUIRE(m.found());
    CHECK(m.stages.has(stage_kind::layer_norm));
    CHECK(m.reads[operand::bias].tensor == b.bias_of);
    CHECK(node_of(m, stage_kind::add_bias) == b.g.position(b.value));
    CHECK(m.activation == b.value);
    CHECK(m.servable() == 1);
}

TEST_CASE("a bias is a leaf of one row, added to the norm alone", "[match]") {
    biased other;
    other.g[other.bias_of].weight = false;
    CHECK(at(other.g, biased_norm, other.norm).why.why == reason::weight_not_leaf);
    biased read;
    read.g.other({read.scaled});
    CHECK(at(read.g, biased_norm, read.norm).why.why == reason::unbiased);
    graph_builder g;
    const id norm = g.same_shape(op::norm, g.input(format::f32, {512, 2}), {0});
    const id scaled = g.mul(norm, g.weight(format::f32, {512}));
    g.matmul(format::q4_K, 64, g.add(scaled, g.weight(format::f32, {512, 2})));
    CHECK(at(g, biased_norm, norm).why.why == reason::weight_shape);
}

TEST_CASE("a UNARY that a quantized matmul reads is a place without a second factor", "[match]") {
    graph_builder g;
    const id x = g.input(format::f32, {512, 2});
    const id gelu = g.unary(x, sub_op::gelu);
    g.matmul(format::q4_K, 64, gelu);
    const match m = at(g, function, gelu);
    REQUIRE(m.found());
    CHECK(m.reads[operand::x].tensor == no_tensor);
    CHECK(m.reads[operand::gate].tensor == x);
    CHECK(m.params.function == gate_function::gelu);
    CHECK(m.activation == gelu);
    CHECK(m.servable() == 1);
    CHECK(at(g, function, g.unary(x, sub_op::softplus)).why.why == reason::no_gate);
}

TEST_CASE("the square of a RELU is one function", "[match]") {
    graph_builder g;
    const id x = g.input(format::f32, {512, 2});
    const id relu = g.unary(x, sub_op::relu);
    const id square = g.same_shape(op::sqr, relu, {relu});
    g.matmul(format::q4_K, 64, square);
    const match m = at(g, function, square);
    REQUIRE(m.found());
    CHECK(m.params.function == gate_function::relu_squared);
    CHECK(m.reads[operand::gate].tensor == x);
    CHECK(takes(m, g.position(relu)));
    CHECK(m.activation == square);
    g.other({relu});
    CHECK(at(g, function, square).why.why == reason::no_gate);
    const id plain = g.same_shape(op::sqr, x, {x});
    CHECK(at(g, function, plain).why.why == reason::no_gate);
}
