// The reference against straight-line code that knows nothing of stages.
#include "catena/catena.hpp"
#include "catena_test/catch.hpp"

#include <cmath>
#include <random>
#include <stdexcept>
#include <vector>

using namespace catena::chain;
using catena::epilogue_part;
using catena::lowered_chain;
using catena::operand;

namespace {

constexpr lowered_chain finished =
    lower("", quantize<q8_1> | group<mul_mat<q4_K>, mul_mat_id<q8_0>> |
                  epilogue<mul(scale), mul(factor), add(bias), glu, act, combine, add(residual),
                           quantize<q8_1>>);

constexpr lowered_chain norm_input =
    lower("", add(residual) | emit<f32> | rms_norm | mul(weight) | add(bias) | emit<f32> |
                  quantize<q8_1> | group<mul_mat<q4_K>, mul_mat_id<q8_0>>);

std::vector<double> random_values(std::int64_t count, unsigned seed) {
    std::mt19937 generator(seed);
    std::normal_distribution<double> normal;
    std::vector<double> out(static_cast<std::size_t>(count));
    for (double& v : out) v = normal(generator);
    return out;
}

/// Two tokens of k = 64, one dense matrix of 3 rows, one of 4 experts of 2 rows with 2 slots a
/// token.
inputs example() {
    inputs in;
    in.k = 64;
    in.rows = 2;
    in.eps = 1e-5;
    in.x = random_values(128, 1);
    in[operand::residual] = random_values(128, 2);
    in[operand::weight] = random_values(64, 3);
    in[operand::bias] = random_values(64, 4);
    in.matrices = {{.type = q4_K, .rows = 3, .experts = 0, .values = random_values(3 * 64, 5)},
                   {.type = q8_0, .rows = 2, .experts = 4, .values = random_values(4 * 2 * 64, 6)}};
    in.ids = {3, 0, 2, 3};
    in.slots = 2;
    return in;
}

double dot(const double* a, const double* b, std::size_t n) {
    double sum = 0;
    for (std::size_t i = 0; i < n; ++i) sum += a[i] * b[i];
    return sum;
}

}  // namespace

TEST_CASE(
    "The reference adds up what experts made, times their weights, and what a shared one made") {
    constexpr auto chain =
        catena::chain::lower("", combine | add(residual) | emit<f32> | rms_norm | emit<f16>);
    inputs in = example();
    in.expert_slots = 3;
    in.experts = random_values(3 * 128, 31);
    const std::vector<double> weights = random_values(6, 32), gate = random_values(2, 33), x = in.x;
    const auto expected = [&](std::size_t row, std::size_t i, bool weighted, bool shared,
                              bool gated) {
        double sum = in[operand::residual][row * 64 + i];
        for (std::size_t s = 0; s < 3; ++s)
            sum += in.experts[(row * 3 + s) * 64 + i] * (weighted ? weights[row * 3 + s] : 1);
        return sum + (shared ? x[row * 64 + i] * (gated ? 1 / (1 + std::exp(-gate[row])) : 1) : 0);
    };
    const bool weighted = GENERATE(false, true), shared = GENERATE(false, true);
    const bool gated = shared && GENERATE(false, true);
    if (weighted) in.expert_weights = weights;
    if (!shared) in.x.clear();
    if (gated) in.shared_gate = gate;
    const outputs out = reference(chain, in);
    REQUIRE(out.sum.size() == 128);
    for (std::size_t row = 0; row < 2; ++row)
        for (std::size_t i = 0; i < 64; ++i)
            CHECK(out.sum[row * 64 + i] ==
                  Approx(expected(row, i, weighted, shared, gated)).epsilon(1e-12));
    in.experts.pop_back();
    CHECK_THROWS_AS(reference(chain, in), std::invalid_argument);
}

TEST_CASE("The reference writes the sum, the value and every product") {
    const inputs in = example();
    const outputs out = reference(norm_input, in);

    REQUIRE(out.sum.size() == 128);
    REQUIRE(out.value.size() == 128);
    std::vector<double> value(128);
    for (std::size_t row = 0; row < 2; ++row) {
        double squares = 0;
        for (std::size_t i = 0; i < 64; ++i) {
            const double sum = in.x[row * 64 + i] + in[operand::residual][row * 64 + i];
            CHECK(out.sum[row * 64 + i] == sum);
            squares += sum * sum;
        }
        for (std::size_t i = 0; i < 64; ++i)
            value[row * 64 + i] =
                out.sum[row * 64 + i] / std::sqrt(squares / 64 + 1e-5) * in[operand::weight][i] +
                in[operand::bias][i];
    }
    for (std::size_t i = 0; i < 128; ++i) CHECK(out.value[i] == Approx(value[i]).epsilon(1e-13));
    CHECK(out.emitted == (catena::format_set::of(f32) | q8_1));

    REQUIRE(out.products.size() == 2);
    REQUIRE(out.products[0].size() == 6);
    for (std::size_t token = 0; token < 2; ++token)
        for (std::size_t row = 0; row < 3; ++row)
            CHECK(out.products[0][token * 3 + row] ==
                  Approx(dot(&in.matrices[0].values[row * 64], &value[token * 64], 64))
                      .epsilon(1e-12));

    const std::size_t ids[] = {3, 0, 2, 3};
    REQUIRE(out.products[1].size() == 8);
    for (std::size_t column = 0; column < 4; ++column)
        for (std::size_t row = 0; row < 2; ++row)
            CHECK(out.products[1][column * 2 + row] ==
                  Approx(dot(&in.matrices[1].values[(ids[column] * 2 + row) * 64],
                             &value[column / 2 * 64], 64))
                      .epsilon(1e-12));
}

TEST_CASE("A gated chain multiplies by a function of the gate") {
    constexpr lowered_chain gated_input = lower("", glu | emit<f32>);
    inputs in;
    in.k = 4;
    in.rows = 2;
    in.x = {1, 2, 3, 4, 5, 6, 7, 8};
    in[operand::gate] = {-2, -1, 0, 1, 2, 3, 4, 5};
    const auto out_of = [&](catena::gate_function f, double g, double x) {
        in.gated_by = {f, 1.7, 3};
        in[operand::gate][5] = g, in.x[5] = x;
        return reference(gated_input, in).value[5];
    };
    using enum catena::gate_function;
    CHECK(out_of(none, 3, 6) == 18);
    CHECK(out_of(silu, 3, 6) == Approx(3 / (1 + std::exp(-3.0)) * 6));
    CHECK(out_of(sigmoid, 3, 6) == Approx(1 / (1 + std::exp(-3.0)) * 6));
    CHECK(out_of(gelu, 3, 6) == Approx(6 * 2.99636).epsilon(1e-5));
    CHECK(out_of(gelu_erf, 3, 6) == Approx(6 * 2.99595).epsilon(1e-5));
    CHECK(out_of(gelu_quick, 3, 6) == Approx(3 / (1 + std::exp(-5.106)) * 6));
    CHECK(out_of(relu, 3, 6) == 18);
    CHECK(out_of(relu, -3, 6) == 0);
    // The gate is held below the limit, the value on both sides.
    CHECK(out_of(swiglu_oai, 9, 2) == Approx(3 / (1 + std::exp(-1.7 * 3)) * 3));
    CHECK(out_of(swiglu_oai, -9, 20) == Approx(-9 / (1 + std::exp(1.7 * 9)) * 4));
    CHECK(out_of(swiglu_oai, 1, -20) == Approx(1 / (1 + std::exp(-1.7)) * -2));
}

TEST_CASE("A function of x alone has no gate") {
    inputs in;
    in.k = 4;
    in.rows = 1;
    in.x = {-2, -1, 0, 3};
    in.gated_by.function = catena::gate_function::relu_squared;
    CHECK(reference(lower("", act | emit<f32>), in).value == std::vector<double>{0, 0, 0, 9});
}

TEST_CASE("An engine's own op is applied to the finished value, and to finished products") {
    const auto bounded = [](double v, const catena::op_numbers& n) {
        return std::clamp(v, double{n.a}, double{n.b});
    };
    inputs in;
    in.k = 4;
    in.rows = 1;
    in.x = {-2, -1, 0, 3};
    in.gated_by.function = catena::gate_function::relu_squared;
    in.own = {.own = bounded, .with = {1, 4}};
    CHECK(reference(lower("", act | own | emit<f32>), in).value == std::vector<double>{1, 1, 1, 4});

    constexpr lowered_chain group =
        lower("", quantize<q8_1> | mul_mat<q4_K> | epilogue<add(bias), act, own>);
    in.matrices = {{.type = q4_K, .rows = 1, .values = {0, 0, 0, 1}}};
    in.matrices[0][epilogue_part::bias].values = {-5};
    CHECK(reference(group, in).products[0] == std::vector<double>{-2});
    in.matrices[0].own = {.own = bounded, .with = {-1, 1}};
    CHECK(asked_parts(in.matrices[0]).has(epilogue_part::own));
    CHECK(reference(group, in).products[0] == std::vector<double>{-1});
    in.matrices[0].gated_by = {.own = bounded, .with = {2, 3}};
    CHECK(reference(group, in).products[0] == std::vector<double>{1});
}

TEST_CASE("A layer_norm takes the mean off, an l2_norm divides by the length") {
    inputs in;
    in.k = 4;
    in.rows = 2;
    in.eps = 0.25;
    in.x = {1, 2, 3, 6, 0, 0.1, 0, 0};
    in[operand::weight] = {0, 1, 2, 0.5};
    in[operand::bias] = {4, 3, 2, 1};
    const auto layer =
        reference(lower("", layer_norm | mul(weight) | add(bias) | emit<f32>), in).value;
    const double deviation = std::sqrt((4 + 1 + 0 + 9) / 4.0 + 0.25);
    CHECK(layer[0] == 4);
    CHECK(layer[1] == Approx(-1 / deviation + 3));
    CHECK(layer[2] == Approx(2));
    CHECK(layer[3] == Approx(3 / deviation / 2 + 1));
    const auto l2 = reference(lower("", l2_norm | mul(one_plus_weight) | emit<f32>), in).value;
    CHECK(l2[0] == Approx(1 / std::sqrt(50)));
    CHECK(l2[3] == Approx(6 / std::sqrt(50) * 1.5));
    CHECK(l2[5] == Approx(0.1 / 0.25 * 2));  // shorter than eps
}

TEST_CASE("A residual may be added to a norm, and the sum be normed again") {
    inputs in = example();
    in[operand::next_weight] = random_values(64, 40);
    in.next_eps = 0.5;
    const auto normed = reference(lower("", rms_norm | mul(weight) | emit<f32>), in).value;
    const auto joined = rms_norm | mul(weight) | add(residual) | emit<f32>;
    const outputs once = reference(lower("", joined), in);
    CHECK(once.sum.empty());
    const auto again = joined | rms_norm | mul(next_weight) | emit<f16>;
    const outputs twice = reference(lower("", again), in);
    CHECK(twice.sum == once.value);
    CHECK(twice.emitted == catena::format_set::of(f16));
    for (std::size_t row = 0; row < 2; ++row) {
        double squares = 0;
        for (std::size_t i = row * 64; i < row * 64 + 64; ++i) {
            CHECK(once.value[i] == Approx(normed[i] + in[operand::residual][i]));
            squares += once.value[i] * once.value[i];
        }
        for (std::size_t i = 0; i < 64; ++i)
            CHECK(twice.value[row * 64 + i] ==
                  Approx(once.value[row * 64 + i] * in[operand::next_weight][i] /
                         std::sqrt(squares / 64 + 0.5)));
    }
}

TEST_CASE("Numbers multiply what a residual is added to, a norm, and what joins that") {
    inputs in = example();
    in[operand::next_weight] = random_values(64, 40);
    const auto x = in.x;
    const auto residual_norm =
        lower("", mul(scale) | add(residual) | emit<f32> | rms_norm | mul(weight) | emit<f16>);
    for (double& v : in.x) v *= 0.25;
    const outputs before = reference(residual_norm, in);
    in.x = x;
    in.x_scale = 0.25;
    in.norm_scale = 3;
    const outputs after = reference(residual_norm, in);
    CHECK(after.sum == before.sum);
    for (std::size_t i = 0; i < 128; ++i) CHECK(after.value[i] == Approx(3 * before.value[i]));

    const auto scaled_norm = lower("", mul(scale) | emit<f32> | rms_norm | mul(weight) | emit<f16>);
    const outputs alone = reference(scaled_norm, in);
    for (std::size_t i = 0; i < 128; ++i) {
        CHECK(alone.sum[i] == 0.25 * x[i]);
        CHECK(alone.value[i] != after.value[i]);
    }

    const auto joined = rms_norm | mul(weight) | add(residual) | emit<f32>;
    in.norm_scale = 1;
    const auto sum = reference(lower("", joined), in).value;  // without mul(scale)
    in[operand::factor] = {0.5};
    const outputs twice =
        reference(lower("", joined | rms_norm | mul(next_weight) | emit<f16>), in);
    for (std::size_t i = 0; i < 128; ++i) CHECK(twice.sum[i] == Approx(0.5 * sum[i]));
}

TEST_CASE("A norm may be gated") {
    inputs in = example();
    in[operand::gate] = random_values(128, 30);
    in.gated_by.function = catena::gate_function::silu;
    const auto normed = reference(lower("", rms_norm | mul(weight) | emit<f32>), in).value;
    const auto gated = reference(lower("", rms_norm | mul(weight) | glu | emit<f32>), in).value;
    for (std::size_t i = 0; i < 128; ++i)
        CHECK(gated[i] ==
              Approx(normed[i] * in[operand::gate][i] / (1 + std::exp(-in[operand::gate][i]))));
}

TEST_CASE("An epilogue scales, biases, gates and adds, in this order, dense and by expert") {
    inputs in = example();
    const std::vector<double> activation = random_values(128, 9);
    const outputs bare = reference_from_activation(finished, in, activation);
    std::vector<std::vector<double>> up;
    for (std::size_t i = 0; i < 2; ++i) {
        matrix& m = in.matrices[i];
        inputs other = example();
        other.matrices[i].values = random_values(static_cast<std::int64_t>(m.values.size()), 20);
        up.push_back(reference_from_activation(finished, other, activation).products[i]);
        m.up = other.matrices[i].values;
        m.numbers.scale = 2;
        m[epilogue_part::factor] = {.values = {-1.5}, .of_up = {3}};
        const std::int64_t biases = m.rows * (m.experts != 0 ? m.experts : 1);
        m[epilogue_part::bias] = {random_values(biases, 21), random_values(biases, 22)};
        m[epilogue_part::residual].values =
            random_values(static_cast<std::int64_t>(up[i].size()), 23);
        m.gated_by.function = catena::gate_function::silu;
    }
    const outputs out = reference_from_activation(finished, in, activation);
    const auto wanted = [&](std::size_t i, std::size_t at, std::size_t bias_at) {
        const matrix& m = in.matrices[i];
        const part_values& bias = m[epilogue_part::bias];
        const double gate = bare.products[i][at] * 2 * -1.5 + bias.values[bias_at];
        return gate / (1 + std::exp(-gate)) * (up[i][at] * 3 + bias.of_up[bias_at]) +
               m[epilogue_part::residual].values[at];
    };
    for (std::size_t at = 0; at < 6; ++at)
        CHECK(out.products[0][at] == Approx(wanted(0, at, at % 3)).epsilon(1e-12));
    for (std::size_t at = 0; at < 8; ++at) {
        const auto expert = static_cast<std::size_t>(in.ids[at / 2]);
        CHECK(out.products[1][at] == Approx(wanted(1, at, expert * 2 + at % 2)).epsilon(1e-12));
    }
}

TEST_CASE("An epilogue adds up a token's slots times their weights, and then a residual") {
    inputs in = example();
    const std::vector<double> activation = random_values(128, 9);
    matrix& m = in.matrices[1];
    m[epilogue_part::bias].values = random_values(m.rows * m.experts, 21);
    const outputs apart = reference_from_activation(finished, in, activation);
    m.combined = true;
    in.expert_weights = random_values(static_cast<std::int64_t>(in.ids.size()), 24);
    const auto columns = in.ids.size(), slots = static_cast<std::size_t>(in.slots);
    const auto rows = static_cast<std::size_t>(m.rows);
    const std::vector<double>& residual = m[epilogue_part::residual].values =
        random_values(static_cast<std::int64_t>(rows * columns / slots), 25);
    const outputs out = reference_from_activation(finished, in, activation);
    REQUIRE(out.products[1].size() == residual.size());
    for (std::size_t at = 0; at < residual.size(); ++at) {
        double wanted = residual[at];
        for (std::size_t s = 0; s < slots; ++s) {
            const std::size_t column = at / rows * slots + s;
            wanted += apart.products[1][column * rows + at % rows] * in.expert_weights[column];
        }
        CHECK(out.products[1][at] == Approx(wanted).epsilon(1e-12));
    }
    in.expert_weights.pop_back();
    CHECK_THROWS(reference_from_activation(finished, in, activation));
}

TEST_CASE("Without a second matrix an epilogue takes a function of the product") {
    inputs in = example();
    const std::vector<double> activation = random_values(128, 9);
    const outputs bare = reference_from_activation(finished, in, activation);
    matrix& m = in.matrices[0];
    const std::vector<double> bias = random_values(m.rows, 21), residual = random_values(6, 23);
    m[epilogue_part::bias].values = bias;
    m[epilogue_part::residual].values = residual;
    m.gated_by.function = catena::gate_function::sigmoid;
    const outputs out = reference_from_activation(finished, in, activation);
    for (std::size_t at = 0; at < 6; ++at) {
        const double v = bare.products[0][at] + bias[at % 3];
        CHECK(out.products[0][at] == Approx(1 / (1 + std::exp(-v)) + residual[at]).epsilon(1e-12));
    }
    CHECK_THROWS_WITH(reference_from_activation(norm_input, in, activation),
                      "reference: matrix 0 asks for more than the chain's epilogue does");
}

TEST_CASE("From a quantized activation the reference multiplies and does nothing else") {
    const inputs in = example();
    const std::vector<double> activation = random_values(128, 7);
    const outputs out = reference_from_activation(norm_input, in, activation);
    CHECK(out.sum.empty());
    CHECK(out.value.empty());
    CHECK(out.products[0][4] ==
          Approx(dot(&in.matrices[0].values[64], &activation[64], 64)).epsilon(1e-12));
}

TEST_CASE("The reference of a chain of float weights multiplies the value as it is") {
    constexpr lowered_chain numbers = lower("", emit<f32> | group<mul_mat<f32>>);
    inputs in;
    in.k = 64;
    in.rows = 1;
    in.matrices = {{.type = f32, .rows = 2, .experts = 0, .values = random_values(128, 9)}};
    const std::vector<double> value = random_values(64, 10);
    const outputs out = reference_from_activation(numbers, in, value);
    CHECK(out.products[0][1] ==
          Approx(dot(&in.matrices[0].values[64], value.data(), 64)).epsilon(1e-12));
}

TEST_CASE("Experts with an activation row of their own read it") {
    inputs in = example();
    in.x_slots = 2;
    in.ids = {3, 1};  // one token, two slots: both rows of x
    in.matrices.erase(in.matrices.begin());
    const std::vector<double> activation = random_values(128, 8);
    const outputs out = reference_from_activation(norm_input, in, activation);
    CHECK(out.products[0][2] ==
          Approx(dot(&in.matrices[0].values[1 * 2 * 64], &activation[64], 64)).epsilon(1e-12));
}

TEST_CASE("A chain without a norm emits its input") {
    inputs in;
    in.k = 4;
    in.rows = 1;
    in.x = {1, -2, 3, 0};
    const outputs out = reference(lower("", emit<f16> | emit<bf16>), in);
    CHECK(out.value == in.x);
    CHECK(out.emitted == (catena::format_set::of(f16) | bf16));
}

TEST_CASE("Inputs that do not fit the chain are refused, with what was expected") {
    inputs in = example();
    in[operand::residual].pop_back();
    CHECK_THROWS_WITH(reference(norm_input, in),
                      "reference: residual has 127 elements, the chain reads 128");
    in = example();
    in.matrices[1].numbers.scale = 2;
    CHECK_THROWS_WITH(reference(norm_input, in),
                      "reference: matrix 1 asks for more than the chain's epilogue does");
    in = example();
    in.matrices[0].type = q6_K;
    CHECK_THROWS_WITH(reference(norm_input, in),
                      "reference: matrix 0 is q6_K, which the chain's group lacks");
    in = example();
    in.ids[1] = 4;
    CHECK_THROWS_WITH(reference(norm_input, in),
                      "reference: id 4 of column 1 names none of the 4 experts");
    in = example();
    in.ids.push_back(0);
    CHECK_THROWS_WITH(reference(norm_input, in),
                      "reference: ids name more tokens than x has rows for");
}
