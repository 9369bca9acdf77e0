// `real` on the host: every operation against the exact result, rounded once; conversions at their
// edges.
#include "catena/exec/real.hpp"

#include "catena_test/catch.hpp"
#include "real_values.hpp"

#include <cmath>
#include <cstdint>
#include <limits>

using namespace catena;
using catena_test::real_values;

namespace {

constexpr std::uint32_t quiet_nan = 0x7fffffffu;

std::uint32_t bits_of_float(float v) { return bits_of(real{v}); }

/// NaNs are one class, and one pattern.
bool is(real result, double exact) {
    if (std::isnan(exact)) return bits_of(result) == quiet_nan;
    return bits_of(result) == bits_of_float(static_cast<float>(exact));
}

/// The nearest number of `fraction` mantissa bits and exponents from `lowest` on, ties to even.
double rounded(double v, int fraction, int lowest) {
    if (v == 0 || !std::isfinite(v)) return v;
    int exponent = 0;
    std::frexp(v, &exponent);
    const int unit = std::max(exponent - 1, lowest) - fraction;
    return std::ldexp(std::nearbyint(std::ldexp(v, -unit)), unit);
}

}  // namespace

// A double holds sums, products, quotients and roots of floats so exactly that rounding it once
// more to float is the same as rounding once.
TEST_CASE("arithmetic rounds once, keeps subnormals and signed zeros, and makes one NaN") {
    for (const real a : real_values()) {
        REQUIRE(is(sqrt(a), std::sqrt(static_cast<double>(a.v))));
        REQUIRE(bits_of(-a) == (bits_of(a) ^ 0x80000000u));
        REQUIRE(bits_of(abs(a)) == (bits_of(a) & 0x7fffffffu));
        for (const real b : real_values(7)) {
            const double x = a.v, y = b.v;
            REQUIRE(is(a + b, x + y));
            REQUIRE(is(a - b, x - y));
            REQUIRE(is(a * b, x * y));
            REQUIRE(is(a / b, x / y));
        }
    }
}

TEST_CASE("a value changes in place as by the operator of two values") {
    real v{3};
    v += real{5};
    CHECK(v.v == 8);
    v -= real{2};
    CHECK(v.v == 6);
    v *= real{-0.5f};
    CHECK(v.v == -3);
}

TEST_CASE("fma rounds once") {
    CHECK(fma(real{3}, real{5}, real{-15}).v == 0);
    const real a = from_bits(0x3f800001u);  // 1 + 2^-23: its square has a tail that a product loses
    CHECK(bits_of(fma(a, a, -(a * a))) == bits_of_float(0x1p-46f));
    CHECK(bits_of(fma(real{0x1p-100f}, real{0x1p-49f}, real{0})) == 1);
    // A product half way between two floats, and an addend far below it that decides.
    const float ties[][4] = {
        {0x1.001p0f, 0x1.001p0f, 0x1p-80f, 0x1.002002p0f},
        {0x1.001p0f, 0x1.003p0f, -0x1p-80f, 0x1.004002p0f},
        {-0x1.001p0f, 0x1.001p0f, -0x1p-80f, -0x1.002002p0f},
    };
    for (const auto& [x, y, z, expected] : ties) {
        CHECK(fma(real{x}, real{y}, real{z}).v == expected);
        CHECK(detail::fused_in_double(x, y, z) == expected);
    }
    for (const real x : real_values(11))
        for (const real y : real_values(13))
            for (const real z : real_values(29)) {
                const float expected = std::fma(x.v, y.v, z.v);
                REQUIRE(
                    is(real{detail::finished(detail::fused_in_double(x.v, y.v, z.v))}, expected));
                if (std::isnan(expected))
                    REQUIRE(bits_of(fma(x, y, z)) == quiet_nan);
                else
                    REQUIRE(bits_of(fma(x, y, z)) == bits_of_float(expected));
            }
}

TEST_CASE("conversion to integers saturates and takes NaN to 0") {
    CHECK(to_int(real{2.9f}) == 2);
    CHECK(to_int(real{-2.9f}) == -2);
    CHECK(to_int(real{3e9f}) == std::numeric_limits<int>::max());
    CHECK(to_int(real{-3e9f}) == std::numeric_limits<int>::min());
    CHECK(to_int(real{2147483520.0f}) == 2147483520);
    CHECK(to_int(from_bits(quiet_nan)) == 0);
    CHECK(to_int(from_bits(0x7f800000u)) == std::numeric_limits<int>::max());
    CHECK(to_int(from_bits(1)) == 0);
    CHECK(from_int(16777217).v == 16777216.0f);
    CHECK(from_int(16777219).v == 16777220.0f);
    CHECK(from_int(-5).v == -5.0f);
}

TEST_CASE("conversion to int8 rounds half away from zero and saturates") {
    for (int i = -1300; i <= 1300; ++i) {
        const float v = static_cast<float>(i) / 10;
        const double expected = std::round(static_cast<double>(v));
        CHECK(to_int8(real{v}) == static_cast<int>(std::min(127.0, std::max(-128.0, expected))));
    }
    for (int i = -130; i <= 130; ++i) {
        const float tie = static_cast<float>(i) + 0.5f;
        CHECK(to_int8(real{tie}) ==
              static_cast<int>(std::min(127.0f, std::max(-128.0f, std::round(tie)))));
        for (const float near : {std::nextafter(tie, -1e9f), std::nextafter(tie, 1e9f)})
            CHECK(to_int8(real{near}) ==
                  static_cast<int>(std::min(127.0f, std::max(-128.0f, std::round(near)))));
    }
    CHECK(to_int8(real{1e30f}) == 127);
    CHECK(to_int8(real{-1e30f}) == -128);
    CHECK(to_int8(from_bits(0x7f800000u)) == 127);
    CHECK(to_int8(from_bits(quiet_nan)) == 0);
}

TEST_CASE("conversion to half and bfloat16 rounds to nearest even, and back is exact") {
    for (const real a : real_values()) {
        const double x = a.v;
        if (std::isnan(x)) {
            REQUIRE(to_half(a) == 0x7fff);
            REQUIRE(to_bfloat16(a) == 0x7fff);
            continue;
        }
        const double half = rounded(x, 10, -14);
        REQUIRE(
            is(from_half(to_half(a)), std::abs(half) > 65504 ? std::copysign(INFINITY, x) : half));
        REQUIRE(is(from_bits(f32_bits_from_bf16(to_bfloat16(a))), rounded(x, 7, -126)));
        REQUIRE(to_half(a) >> 15 == bits_of(a) >> 31);
    }
    for (std::uint32_t h = 0; h < 65536; ++h) {
        const auto pattern = static_cast<std::uint16_t>(h);
        if ((h & 0x7fff) <= 0x7c00) REQUIRE(to_half(from_half(pattern)) == pattern);
        if ((h & 0x7fff) <= 0x7f80)
            REQUIRE(to_bfloat16(from_bits(f32_bits_from_bf16(pattern))) == pattern);
    }
    CHECK(to_half(real{1 + 0x1p-11f}) == 0x3c00);
    CHECK(to_half(real{1 + 0x3p-11f}) == 0x3c02);
    CHECK(to_half(real{65519.0f}) == 0x7bff);
    CHECK(to_half(real{65520.0f}) == 0x7c00);
    CHECK(to_half(real{0x1p-25f}) == 0);
    CHECK(to_half(real{0x1.8p-25f}) == 1);
    CHECK(to_half(real{0x1.8p-24f}) == 2);
}
