// Norms with a bias or a gate behind them, layer norms, and functions of one tensor.
#include "catena/catena.hpp"
#include "catena/match/match.hpp"

#include "catena_test/catch.hpp"
#include "catena_test/graph_builder.hpp"

using namespace catena;
using namespace catena_test;
using chain::act, chain::add, chain::bias, chain::emit, chain::glu, chain::layer_norm, chain::mul,
    chain::mul_mat, chain::quantize, chain::rms_norm, chain::weight;

namespace {

constexpr auto served = emit<format::f32> | quantize<format::q8_1> | mul_mat<format::q4_K>;
constexpr pattern gated_norm =
    pattern_of(chain::lower("", rms_norm | mul(weight) | glu | served));
constexpr pattern biased_norm =
    pattern_of(chain::lower("", layer_norm | mul(weight) | add(bias) | served));
constexpr pattern function = pattern_of(chain::lower("", act | served));
static_assert(gated_norm.known && gated_norm.gate && gated_norm.length() == 3);
static_assert(biased_norm.known && biased_norm.bias && !biased_norm.gate);
static_assert(function.known && function.alone && function.length() == 1);
static_assert(!same_family(gated_norm, biased_norm));

match at(graph_builder& g, const pattern& p, id node) {
    graph_index index;
    REQUIRE(index.build(g.view()).ok());
    const matcher m(index, p);
    return is_norm(p.value) ? m.at_norm(g.position(node)) : m.at_gated(g.position(node));
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

TEST_CASE("a norm whose result is gated is a place with the gate's operand", "[match]") {
    heads h;
    const match m = at(h.g, gated_norm, h.norm);
    REQUIRE(m.found());
    CHECK(m.kind == value_kind::rms_norm);
    CHECK(m.x.tensor == h.x);
    CHECK(h.g.view().at(m.gate.tensor).view_src == h.z);
    CHECK(m.function == gate_function::silu);
    CHECK(m.glu == h.g.position(h.value));
    CHECK(m.unary == h.g.position(h.silu));
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
    g.matmul(format::q4_K, 64, g.mul(scaled, g.input(format::f32, {512})));
    CHECK(at(g, gated_norm, norm).why.why == reason::ungated);
}

TEST_CASE("a layer norm with weight and bias is a place", "[match]") {
    biased b;
    const match m = at(b.g, biased_norm, b.norm);
    REQUIRE(m.found());
    CHECK(m.kind == value_kind::layer_norm);
    CHECK(m.bias == b.bias_of);
    CHECK(m.bias_add == b.g.position(b.value));
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
    CHECK(m.x.tensor == no_tensor);
    CHECK(m.gate.tensor == x);
    CHECK(m.function == gate_function::gelu);
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
    CHECK(m.function == gate_function::relu_squared);
    CHECK(m.gate.tensor == x);
    CHECK(m.unary == g.position(relu));
    CHECK(m.activation == square);
    g.other({relu});
    CHECK(at(g, function, square).why.why == reason::no_gate);
    const id plain = g.same_shape(op::sqr, x, {x});
    CHECK(at(g, function, plain).why.why == reason::no_gate);
}
