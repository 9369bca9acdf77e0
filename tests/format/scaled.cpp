// Activations whose scales lie apart: what is stored of a row, and what comes back.
#include "catena/format/scaled.hpp"
#include "catena/format/random.hpp"
#include "catena_test/catch.hpp"
#include "catena_test/stored_scales.hpp"

#include <cmath>
#include <limits>

using namespace catena;
using catena_test::stored_scales;

namespace {

constexpr format all[] = {format::int8_token, format::fp8_tensor, format::fp8_token,
                          format::fp8_group,  format::mxfp8_rows, format::mxfp4_rows,
                          format::nvfp4_rows};
constexpr std::int64_t k = 384;

std::vector<float> bell() {
    std::vector<float> values(k);
    fill_random_values(11, 0, values);
    return values;
}

/// Half the distance between neighbors at the top of the range, relative to it; what a power of
/// two as the scale cuts off there, if that is more.
double coarseness(format f) {
    switch (f) {
        case format::int8_token:
            return 0.5 / 127;
        case format::mxfp8_rows:
            return 1.0 / 8;
        case format::mxfp4_rows:
            return 1.0 / 4;
        case format::nvfp4_rows:
            return 1.0 / 6 * 1.07;  // the scale is rounded too
        default:
            return 16.0 / 448;
    }
}

}  // namespace

TEST_CASE("A row comes back as exactly as its format allows") {
    const std::vector<float> row = bell();
    for (const format f : all) {
        INFO(name(f));
        const float given = 0.01f;  // 448 times this is beyond every value
        const scaled_row stored = encode_scaled(f, row, given);
        CHECK(stored.data.size() == static_cast<std::size_t>(row_bytes(f, k)));
        const auto wanted = f == format::fp8_tensor ? 0 : k / scale_group(f, k);
        CHECK(static_cast<std::int64_t>(stored.scales.size()) == wanted);
        const auto back = decode_scaled(f, stored, k, double{given});
        const auto group = static_cast<std::size_t>(scale_group(f, k));
        for (std::size_t i = 0; i < row.size(); ++i) {
            double largest = 0;
            for (std::size_t j = i / group * group; j < (i / group + 1) * group; ++j)
                largest = std::max(largest, std::fabs(double{row[j]}));
            CHECK(std::fabs(back[i] - double{row[i]}) <= 1.001 * coarseness(f) * largest);
        }
    }
}

TEST_CASE("The sum of an int8 row is that of its data") {
    const scaled_row stored = encode_scaled(format::int8_token, bell());
    int sum = 0;
    for (const std::uint8_t q : stored.data) sum += static_cast<std::int8_t>(q);
    CHECK(stored.sum == sum);
    CHECK(stored.sum != 0);
}

TEST_CASE("Zeros and values below every scale are zeros") {
    for (const format f : all) {
        INFO(name(f));
        for (const float value : {0.0f, std::numeric_limits<float>::denorm_min()}) {
            const scaled_row stored = encode_scaled(f, std::vector<float>(128, value));
            for (const std::uint8_t q : stored.data) CHECK(q == 0);
        }
    }
}

TEST_CASE("A NaN or an infinity takes its group along, and no other") {
    for (const float bad :
         {std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::infinity()})
        for (const format f : all) {
            INFO(name(f));
            std::vector<float> row = bell();
            row[200] = bad;
            const auto group = static_cast<std::size_t>(scale_group(f, k));
            const scaled_row stored = encode_scaled(f, row, 0.01f);
            if (f != format::fp8_tensor) CHECK(std::isnan(stored.scales[200 / group]));
            const auto back = decode_scaled(f, stored, k, 0.01);
            for (std::size_t i = 0; i < row.size(); ++i) {
                const bool lost = f == format::fp8_tensor ? i == 200 : i / group == 200 / group;
                CHECK(std::isnan(back[i]) == lost);
            }
        }
}

TEST_CASE("Scales are stored as the format or the engine wants them") {
    const std::vector<float> scales = {0.25f, 3.0f};
    const auto bytes = [](auto... b) { return std::vector<std::byte>{std::byte(b)...}; };
    CHECK(stored_scales(format::fp8_group, scales, format::f16) == bytes(0, 0x34, 0, 0x42));
    CHECK(stored_scales(format::int8_token, scales, format::bf16) == bytes(0x80, 0x3e, 0x40, 0x40));
    CHECK(stored_scales(format::fp8_token, {3.0f}) == bytes(0, 0, 0x40, 0x40));
    CHECK(stored_scales(format::mxfp4_rows, {0.25f, 2.0f}) == bytes(125, 128));
    CHECK(stored_scales(format::nvfp4_rows, scales) == bytes(0x28, 0x44));
}
