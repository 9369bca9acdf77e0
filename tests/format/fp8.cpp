// fp8 weights with the scales of checkpoints.
#include "catena/format/fp8.hpp"
#include "catena/format/random.hpp"
#include "catena_test/catch.hpp"

#include <cmath>

using namespace catena;

namespace {

constexpr std::int64_t rows = 200, k = 300;

/// Rows and columns of many magnitudes.
std::vector<float> some_weights() {
    std::vector<float> values(rows * k);
    fill_random_values(21, 0, values);
    for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = std::ldexp(values[i], static_cast<int>(i / k % 7 + i % k / 50) - 8);
    return values;
}

double error(fp8_scaling scaling) {
    const std::vector<float> values = some_weights();
    const std::vector<double> back = decode_fp8(encode_fp8(values, {scaling, rows, k}));
    double apart = 0, total = 0;
    for (std::size_t i = 0; i < back.size(); ++i) {
        apart += (back[i] - values[i]) * (back[i] - values[i]);
        total += double{values[i]} * values[i];
    }
    return apart / total;
}

}  // namespace

TEST_CASE("A scale is the tensor's, a row's or a square's, and the last squares may hold less") {
    CHECK(fp8_scales{fp8_scaling::tensor, rows, k}.count() == 1);
    CHECK(fp8_scales{fp8_scaling::row, rows, k}.count() == rows);
    constexpr fp8_scales squares{fp8_scaling::square, rows, k};
    CHECK(squares.count() == 2 * 3);
    CHECK(squares.at(127, 127) == 0);
    CHECK(squares.at(127, 128) == 1);
    CHECK(squares.at(128, 127) == 3);
    CHECK(squares.at(199, 299) == 5);
}

TEST_CASE("fp8 weights come back within half a step, whatever has the scale") {
    const std::vector<float> values = some_weights();
    for (const fp8_scaling scaling : {fp8_scaling::tensor, fp8_scaling::row, fp8_scaling::square}) {
        const fp8_matrix stored = encode_fp8(values, {scaling, rows, k});
        const std::vector<double> back = decode_fp8(stored);
        for (std::int64_t i = 0; i < rows * k; ++i) {
            const double wanted = values[static_cast<std::size_t>(i)];
            const double scale =
                stored.scales[static_cast<std::size_t>(stored.layout.at(i / k, i % k))];
            const double step = std::fmax(std::fabs(wanted) / 8, scale / 512);  // 3 bits; subnormal
            REQUIRE(std::fabs(back[static_cast<std::size_t>(i)] - wanted) <= 0.5001 * step);
        }
    }
    CHECK(error(fp8_scaling::tensor) < 1e-3);
}

TEST_CASE("A row of zeros has a scale of zero and stays zeros") {
    std::vector<float> values(2 * 4);
    values[5] = 448;
    const fp8_matrix stored = encode_fp8(values, {fp8_scaling::row, 2, 4});
    CHECK(stored.scales == std::vector<float>{0, 1});
    CHECK(stored.data == std::vector<std::uint8_t>{0, 0, 0, 0, 0, 0x7e, 0, 0});
    CHECK(decode_fp8(stored)[5] == 448);
}
