// Powers, sines and cosines on `real`, against those in double.
#include "catena/exec/elementary.hpp"
#include "catena_test/catch.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

using namespace catena;

namespace {

double worst_at(float angle) {
    const direction d = direction::of(real{angle});
    return std::max(std::fabs(double{d.sine.v} - std::sin(double{angle})),
                    std::fabs(double{d.cosine.v} - std::cos(double{angle})));
}

}  // namespace

TEST_CASE("a sine and a cosine are those of the angle, near and far") {
    std::mt19937 random(1);
    const struct {
        float size;
        double allowed;
    } ranges[] = {{1, 1e-7}, {100, 1e-7}, {1e6f, 1e-7}, {2e9f, 2e-5}};
    for (const auto& range : ranges) {
        INFO("angles up to " << range.size);
        std::uniform_real_distribution<float> angles(-range.size, range.size);
        double worst = 0;
        for (int i = 0; i < 20000; ++i) worst = std::max(worst, worst_at(angles(random)));
        CHECK(worst <= range.allowed);
    }
    for (int quarter = -8; quarter <= 8; ++quarter)
        CHECK(worst_at(static_cast<float>(quarter) * 1.57079632679f) <= 1e-7);
}

TEST_CASE("of an angle that is no number there is no direction") {
    for (const float angle :
         {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
        CHECK_FALSE(std::isfinite(direction::of(real{angle}).sine.v));
        CHECK_FALSE(std::isfinite(direction::of(real{angle}).cosine.v));
    }
}

TEST_CASE("a power is that of its logarithm, in two parts") {
    for (const double ratio : {1e4, 5e5, 1e6, 1e7}) {
        const double log2 =
            std::log2(static_cast<double>(static_cast<float>(std::pow(ratio, -2.0 / 128))));
        const auto high = static_cast<float>(log2), low = static_cast<float>(log2 - double{high});
        for (int n = 0; n < 256; ++n) {
            const double wanted = std::exp2(n * log2);
            const real power = power_of(from_int(n), real{high}, real{low});
            CHECK(std::fabs(double{power.v} / wanted - 1) <= 2e-7);
        }
    }
}
