#include "catena/format/half.hpp"
#include "catena_test/catch.hpp"

#include <cmath>
#include <limits>

using namespace catena;

static_assert(f16_from_f32_bits(0x3f800000) == 0x3c00, "usable in constant expressions");
static_assert(f32_bits_from_f16(0x0001) == 0x33800000);
static_assert(bf16_from_f32_bits(0x3f808000) == 0x3f80, "a tie goes to the even neighbor");

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

/// The value of an f16, by its definition.
float value_of_f16(unsigned half) {
    const float sign = half & 0x8000 ? -1.0f : 1.0f;
    const int exponent = static_cast<int>(half >> 10 & 31);
    const auto fraction = static_cast<float>(half & 0x3ff);
    return exponent == 0 ? sign * std::ldexp(fraction, -24)
                         : sign * std::ldexp(1024 + fraction, exponent - 25);
}

/// Narrowing is right at both neighbors of a pair, at the tie between them and beside it; that is
/// everywhere, since it is monotone.
template <class Narrow>
long wrong_between(float a, float b, unsigned a_bits, Narrow narrow) {
    const auto tie = static_cast<float>((static_cast<double>(a) + b) / 2);
    const unsigned even = a_bits % 2 == 0 ? a_bits : a_bits + 1;
    return (narrow(a) != a_bits) + (narrow(tie) != even) +
           (narrow(std::nextafter(tie, a)) != a_bits) +
           (narrow(std::nextafter(tie, b)) != a_bits + 1);
}

}  // namespace

TEST_CASE("every f16 pattern widens to its value and narrows back to itself") {
    long wrong = 0;
    for (unsigned half = 0; half < 0x10000; ++half) {
        const float wide = f32_from_f16(static_cast<std::uint16_t>(half));
        const unsigned magnitude = half & 0x7fff;
        if (magnitude > 0x7c00) {
            wrong += !std::isnan(wide) + (f16_from_f32(wide) != f16_nan);
        } else {
            const float expected =
                magnitude == 0x7c00 ? (half & 0x8000 ? -infinity : infinity) : value_of_f16(half);
            wrong += f32_bits(wide) != f32_bits(expected);
            wrong += f16_from_f32(wide) != half;
        }
    }
    CHECK(wrong == 0);
}

TEST_CASE("every bf16 pattern widens to its value and narrows back to itself") {
    long wrong = 0;
    for (unsigned brain = 0; brain < 0x10000; ++brain) {
        const float wide = f32_from_bf16(static_cast<std::uint16_t>(brain));
        wrong += f32_bits(wide) != brain << 16;
        const bool nan = (brain & 0x7fff) > 0x7f80;
        wrong += bf16_from_f32(wide) != (nan ? bf16_nan : brain);
    }
    CHECK(wrong == 0);
}

TEST_CASE("narrowing to f16 goes to the nearest, ties to even, between all neighbors") {
    long wrong = 0;
    for (unsigned half = 0; half < 0x7bff; ++half) {
        const float a = value_of_f16(half), b = value_of_f16(half + 1);
        wrong += wrong_between(a, b, half, [](float x) { return f16_from_f32(x); });
        wrong += wrong_between(-a, -b, half | 0x8000, [](float x) { return f16_from_f32(x); });
    }
    CHECK(wrong == 0);
}

TEST_CASE("narrowing to bf16 goes to the nearest, ties to even, between all neighbors") {
    long wrong = 0;
    for (unsigned brain = 0; brain < 0x7f7f; ++brain) {
        const float a = f32_from_bits(brain << 16), b = f32_from_bits((brain + 1) << 16);
        wrong += wrong_between(a, b, brain, [](float x) { return bf16_from_f32(x); });
        wrong += wrong_between(-a, -b, brain | 0x8000, [](float x) { return bf16_from_f32(x); });
    }
    CHECK(wrong == 0);
}

TEST_CASE("what is beyond the largest finite value becomes infinity from half a step on") {
    CHECK(f16_from_f32(65504.0f) == 0x7bff);
    CHECK(f16_from_f32(std::nextafter(65520.0f, 0.0f)) == 0x7bff);
    CHECK(f16_from_f32(65520.0f) == 0x7c00);
    CHECK(f16_from_f32(-65520.0f) == 0xfc00);
    CHECK(f16_from_f32(std::numeric_limits<float>::max()) == 0x7c00);
    CHECK(f16_from_f32(-infinity) == 0xfc00);
    CHECK(bf16_from_f32(std::numeric_limits<float>::max()) == 0x7f80);
    CHECK(bf16_from_f32(f32_from_bits(0x7f7f7fff)) == 0x7f7f);
    CHECK(bf16_from_f32(-infinity) == 0xff80);
}

TEST_CASE("what is below half the smallest value becomes a zero that keeps its sign") {
    CHECK(f16_from_f32(std::ldexp(1.0f, -25)) == 0);
    CHECK(f16_from_f32(std::nextafter(std::ldexp(1.0f, -25), 1.0f)) == 1);
    CHECK(f16_from_f32(-std::ldexp(1.0f, -26)) == 0x8000);
    CHECK(f16_from_f32(-std::numeric_limits<float>::denorm_min()) == 0x8000);
    CHECK(bf16_from_f32(-std::numeric_limits<float>::denorm_min()) == 0x8000);
}

TEST_CASE("every kind of NaN narrows to the one NaN") {
    for (const std::uint32_t bits :
         {0x7f800001u, 0x7fc00000u, 0x7fffffffu, 0xff800001u, 0xffffffffu}) {
        CHECK(f16_from_f32_bits(bits) == f16_nan);
        CHECK(bf16_from_f32_bits(bits) == bf16_nan);
    }
}
