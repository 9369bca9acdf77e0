// The reference against straight-line code that knows nothing of stages.
#include "catena/catena.hpp"
#include "catena_test/catch.hpp"

#include <cmath>
#include <random>
#include <stdexcept>
#include <vector>

using namespace catena::chain;
using catena::lowered_chain;

namespace {

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
    in.residual = random_values(128, 2);
    in.weight = random_values(64, 3);
    in.bias = random_values(64, 4);
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

TEST_CASE("The reference writes the sum, the value and every product") {
    const inputs in = example();
    const outputs out = reference(norm_input, in);

    REQUIRE(out.sum.size() == 128);
    REQUIRE(out.value.size() == 128);
    std::vector<double> value(128);
    for (std::size_t row = 0; row < 2; ++row) {
        double squares = 0;
        for (std::size_t i = 0; i < 64; ++i) {
            const double sum = in.x[row * 64 + i] + in.residual[row * 64 + i];
            CHECK(out.sum[row * 64 + i] == sum);
            squares += sum * sum;
        }
        for (std::size_t i = 0; i < 64; ++i)
            value[row * 64 + i] =
                out.sum[row * 64 + i] / std::sqrt(squares / 64 + 1e-5) * in.weight[i] + in.bias[i];
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

TEST_CASE("From a quantized activation the reference multiplies and does nothing else") {
    const inputs in = example();
    const std::vector<double> activation = random_values(128, 7);
    const outputs out = reference_from_activation(norm_input, in, activation);
    CHECK(out.sum.empty());
    CHECK(out.value.empty());
    CHECK(out.products[0][4] ==
          Approx(dot(&in.matrices[0].values[64], &activation[64], 64)).epsilon(1e-12));
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
    in.residual.pop_back();
    CHECK_THROWS_WITH(reference(norm_input, in),
                      "reference: residual has 127 elements, the chain reads 128");
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
