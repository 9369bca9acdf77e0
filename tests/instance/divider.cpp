#include "catena/kernel/divider.hpp"
#include "catena_test/catch.hpp"

#include <cmath>
#include <limits>
#include <random>

namespace CATENA_NAMESPACE::kernel {
namespace {

/// Random bits.
class random_bits {
  public:
    explicit random_bits(unsigned seed) : made_(seed) {}
    std::uint32_t operator()() { return static_cast<std::uint32_t>(made_()); }

  private:
    std::mt19937 made_;
};

bool same(real a, float b) {
    return (is_nan(a) && std::isnan(b)) || bits_of(a) == bits_of(real{b});
}

TEST_CASE("By 127 a divider divides every float as a division does") {
    random_bits bits(1);
    int wrong = 0;
    for (int i = 0; i < 1'000'000; ++i) {
        const real v = from_bits((i % 16 == 0 ? bits() % 65536 : bits()) & 0x7fffffffu);
        if (bits_of(v) >= 0x7f800000u) continue;
        wrong += !same(divider(real{127})(v), v.v / 127.0f);
        wrong += !same(divider::by_127()(v), v.v / 127.0f);
    }
    CHECK(wrong == 0);
}

TEST_CASE("A divider's quotients are a division's, but for those that every format rounds to 0") {
    random_bits bits(2);
    int wrong = 0;
    for (int i = 0; i < 2'000'000; ++i) {
        const real v = from_bits(bits()), by = from_bits(bits());
        const float quotient = v.v / by.v;
        const real q = divider(by).any(v);
        const bool small = std::fabs(quotient) < 0x1p-12f && std::fabs(q.v) < 0x1p-11f &&
                           std::signbit(quotient) == std::signbit(q.v);
        wrong += !same(q, quotient) && !small;
    }
    CHECK(wrong == 0);
}

TEST_CASE("A divisor whose mantissa is ones divides as others do") {
    int wrong = 0;
    for (const std::uint32_t exponent : {32u, 100u, 127u, 200u})
        for (std::uint32_t of_v = exponent - 9; of_v < exponent + 4; ++of_v)
            for (std::uint32_t mantissa = 0; mantissa < 1u << 23;
                 mantissa += mantissa < 64 ? 1 : 997) {
                const real by = from_bits(exponent << 23 | 0x7fffffu);
                const real v = from_bits(of_v << 23 | mantissa);
                wrong += !same(divider(by)(v), v.v / by.v);
                wrong += !same(divider::by_scale(by)(v), v.v / by.v);
            }
    CHECK(wrong == 0);
}

TEST_CASE("A divider rounds to int8 as a division does, next to every half") {
    random_bits bits(3);
    int wrong = 0;
    for (int i = 0; i < 200'000; ++i) {
        const real by = from_bits(bits() % 0x7d000000u + 0x00800000u);
        const auto half =
            static_cast<float>((static_cast<double>(i % 127) + 0.5) * static_cast<double>(by.v));
        for (const float v : {half, std::nextafterf(half, 0), std::nextafterf(half, 1e38f)}) {
            if (!std::isfinite(v)) continue;
            const int wanted = to_int8(real{v / by.v});
            wrong += to_int8(divider(by)(real{v})) != wanted;
            wrong += to_int8(divider::by_scale(by)(real{v})) != wanted;
        }
    }
    CHECK(wrong == 0);
}

TEST_CASE("A divider takes zeros, infinities and NaNs as a division does") {
    const float inf = std::numeric_limits<float>::infinity(),
                nan = std::numeric_limits<float>::quiet_NaN();
    for (const float v : {0.0f, -0.0f, 1.0f, -3.0f, inf, -inf, nan})
        for (const float by : {0.0f, -0.0f, 1.0f, -7.0f, inf, -inf, nan})
            CHECK(same(divider(real{by}).any(real{v}), v / by));
    CHECK(to_int8(divider(real{0})(from_bits(1))) == 127);
    CHECK(to_int8(divider(real{0})(from_bits(0x80000001u))) == -128);
    CHECK(to_int8(divider(real{0})(real{0})) == 0);
    CHECK(to_int8(divider::by_scale(real{0})(from_bits(1))) == 127);
    CHECK(to_int8(divider::by_scale(real{0})(real{0})) == 0);
}

}  // namespace
}  // namespace CATENA_NAMESPACE::kernel
