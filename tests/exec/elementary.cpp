// The elementary functions on `real` against the C library in double, over all floats.
#include "catena/exec/elementary.hpp"

#include "catena_test/catch.hpp"
#include "real_values.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

using namespace catena;

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

/// Distance in units of the last place of the float nearest to `exact`; NaN and infinity are hit or
/// missed.
double ulps(real got, double exact) {
    const auto nearest = static_cast<float>(exact);
    if (std::isnan(exact)) return is_nan(got) ? 0 : INFINITY;
    if (std::isinf(nearest) || std::isinf(got.v)) return got.v == nearest ? 0 : INFINITY;
    int exponent = 0;
    std::frexp(exact, &exponent);
    return std::fabs(double{got.v} - exact) / std::ldexp(1.0, std::max(exponent - 24, -149));
}

struct worst {
    double distance = 0;
    float at = 0;
    void add(float v, double d) {
        if (!(d <= distance)) distance = d, at = v;
    }
};

/// Every 4093rd bit pattern, so all exponents of both signs, NaNs and infinities too; and all
/// floats around the places where a function changes its formula.
template <class Function, class Exact>
worst worst_of(Function function, Exact exact, const std::vector<float>& seams) {
    worst found;
    const auto try_bits = [&](std::uint32_t bits) {
        const real v = from_bits(bits);
        found.add(v.v, ulps(function(v), exact(double{v.v})));
    };
    for (std::uint64_t bits = 0; bits <= 0xffffffffu; bits += 4093)
        try_bits(static_cast<std::uint32_t>(bits));
    for (const float seam : seams)
        for (std::uint32_t i = 0; i < 2000; ++i) try_bits(bits_of(real{seam}) - 1000 + i);
    for (const real v : catena_test::real_values()) try_bits(bits_of(v));
    return found;
}

}  // namespace

TEST_CASE("exp is within 1.1 ulp of the exact value, subnormal results included") {
    const worst w = worst_of([](real v) { return exp(v); }, [](double v) { return std::exp(v); },
                             {88.7228f, 89.0f, -87.3365f, -103.9721f, -104.0f, 0.34657f});
    INFO("at " << w.at);
    CHECK(w.distance <= 1.1);
}

TEST_CASE("log is within 1 ulp of the exact value, of normal numbers above 0") {
    const auto served = [](double v) { return v >= 0x1p-126 && v <= 0x1.fffffep127; };
    const worst w = worst_of([&](real v) { return log(served(v.v) ? v : real{1}); },
                             [&](double v) { return served(v) ? std::log(v) : 0; },
                             {1.0f, 0.70710678f, 1.41421356f, 2.0f, 0x1p-126f, 4.8e8f});
    INFO("at " << w.at);
    CHECK(w.distance <= 1);
}

TEST_CASE("tanh is within 1.4 ulp of the exact value") {
    const worst w = worst_of([](real v) { return tanh(v); }, [](double v) { return std::tanh(v); },
                             {0.6f, -0.6f, 9.01f, 44.5f});
    INFO("at " << w.at);
    CHECK(w.distance <= 1.4);
}

TEST_CASE("erf is within 1.1 ulp of the exact value") {
    const worst w = worst_of([](real v) { return erf(v); }, [](double v) { return std::erf(v); },
                             {1.0f, -1.0f, 3.83f, 3.95f});
    INFO("at " << w.at);
    CHECK(w.distance <= 1.1);
}

TEST_CASE("reciprocal is within 1 ulp of the exact value, and exact of powers of 2") {
    const worst w = worst_of(
        [](real v) {
            const bool served = !less(abs(v), real{0x1p-126f}) && !less(real{0x1p126f}, abs(v));
            return served ? reciprocal(v) : real{1} / v;
        },
        [](double v) { return 1 / v; }, {0x1p-126f, 0x1p126f, 1.0f, 4096.0f});
    INFO("at " << w.at);
    CHECK(w.distance <= 1);
    for (int power = -126; power <= 126; ++power)
        CHECK(reciprocal(real{std::ldexp(1.0f, power)}).v == std::ldexp(1.0f, -power));
}

TEST_CASE("inverse_root is within 1 ulp of the exact value, of subnormal numbers too") {
    const worst w = worst_of(
        [](real v) { return inverse_root(less(v, real{0}) || v.v == 0 ? real{1} : v); },
        [](double v) { return v <= 0 ? 1 : 1 / std::sqrt(v); }, {0x1p-64f, 0x1p-126f, 1.0f, 4.0f});
    INFO("at " << w.at);
    CHECK(w.distance <= 1);
    CHECK(inverse_root(real{0}).v > 1e23f);
    CHECK(bits_of(inverse_root(real{infinity})) == 0);
}

TEST_CASE("logistic is within 2.1 ulp of the exact value, and 0 where that is below 1e-38") {
    const worst w = worst_of([](real v) { return logistic(v); },
                             [](double v) { return v < -87 ? 0 : 1 / (1 + std::exp(-v)); },
                             {-87.0f, 87.0f, 0.34657f, 17.0f});
    INFO("at " << w.at);
    CHECK(w.distance <= 2.1);
}

TEST_CASE("softplus is within 2e-7 of the exact value, of large ones in proportion to them") {
    for (int i = -110 * 64; i <= 110 * 64; ++i) {
        const float v = static_cast<float>(i) / 64;
        const double exact = v > 40 ? double{v} : std::log1p(std::exp(double{v}));
        const double error = std::fabs(double{softplus(real{v}).v} - exact);
        if (!(error <= 2e-7 * std::max(exact, 1.0))) FAIL_CHECK("at " << v << ": " << error);
    }
    for (const float v : {20.5f, 89.0f, 1e30f, infinity}) {
        CHECK(softplus(real{v}).v == v);
        CHECK(bits_of(softplus(real{-16 * v})) == 0);
    }
}

TEST_CASE("the softplus of a step keeps all digits of small steps") {
    const worst w = worst_of([](real v) { return softplus_of_step(v); },
                             [](double v) { return v > 20 ? v : std::log1p(std::exp(v)); },
                             {-80.0f, 30.0f, -16.6f, -10.0f, 0.0f, 20.0f});
    INFO("at " << w.at);
    CHECK(w.distance <= 4.5);
    CHECK(softplus_of_step(real{infinity}).v == infinity);
    CHECK(bits_of(softplus_of_step(real{-infinity})) == 0);
}

TEST_CASE("normal_logit makes the normal distribution a logistic function") {
    for (int i = -1000; i <= 1000; ++i) {
        const float v = static_cast<float>(i) / 100;
        const double exact = std::erfc(-double{v} / std::sqrt(2.0)) / 2;
        const double found = 1 / (1 + std::exp(-double{normal_logit(real{v}).v}));
        if (!(std::fabs(found - exact) * (1 + std::fabs(v)) <= 2e-7)) FAIL_CHECK("at " << v);
    }
    CHECK(normal_logit(real{infinity}).v == infinity);
    CHECK(normal_logit(real{-1e30f}).v == -infinity);
}

TEST_CASE("beyond the range exp is infinite or zero, tanh and erf are one") {
    for (const float v : {89.0f, 1e30f, infinity}) {
        CHECK(exp(real{v}).v == infinity);
        CHECK(bits_of(exp(real{-16 * v})) == 0);
        CHECK(tanh(real{v}).v == 1);
        CHECK(tanh(real{-v}).v == -1);
        CHECK(erf(real{v}).v == 1);
        CHECK(erf(real{-v}).v == -1);
    }
    real (*const functions[])(real) = {exp,          tanh,     erf,      reciprocal,
                                       inverse_root, logistic, softplus, softplus_of_step,
                                       normal_logit};
    for (const auto function : functions) {
        CHECK(bits_of(function(from_bits(0x7fffffffu))) == 0x7fffffffu);
        CHECK(is_nan(function(from_bits(0xffc00001u))));
    }
    CHECK(bits_of(tanh(real{-0.0f})) == 0x80000000u);
    CHECK(bits_of(erf(real{-0.0f})) == 0x80000000u);
    CHECK(exp(real{-0.0f}).v == 1);
}

TEST_CASE("a comparison is that of numbers, subnormal ones too, and false for NaN") {
    for (const real a : catena_test::real_values(3))
        for (const real b : catena_test::real_values(5)) REQUIRE(less(a, b) == (a.v < b.v));
    CHECK_FALSE(less(real{-0.0f}, real{0}));
    CHECK(clamp(real{3}, real{-1}, real{2}).v == 2);
    CHECK(clamp(real{-3}, real{-1}, real{2}).v == -1);
    CHECK(clamp(real{1}, real{-1}, real{2}).v == 1);
    CHECK(is_nan(clamp(from_bits(0x7fffffffu), real{-1}, real{2})));
}
