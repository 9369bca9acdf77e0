// How well the encoders encode. A limit is what ggml's reference quantizer (August 2026) leaves on
// the very same values, measured once: sum of squared errors over sum of squares.
#include "catena/format/random.hpp"
#include "catena_test/catch.hpp"

#include <cmath>

using namespace catena;

namespace {

constexpr std::size_t count = 1 << 16;

std::vector<float> values_of(float (*shape)(float)) {
    std::vector<float> values(count);
    fill_random_values(2026, 0, values);
    for (float& x : values) x = shape(x);
    return values;
}

double relative_error(format f, const std::vector<float>& values) {
    const std::vector<double> back = decode_row<double>(f, encode_row(f, values), count);
    double error = 0, total = 0;
    for (std::size_t i = 0; i < count; ++i) {
        error += (back[i] - values[i]) * (back[i] - values[i]);
        total += static_cast<double>(values[i]) * values[i];
    }
    return error / total;
}

constexpr format scaled[] = {format::q1_0,   format::q2_0,  format::q4_0, format::q4_1,
                             format::q5_0,   format::q5_1,  format::q8_0, format::q2_K,
                             format::q3_K,   format::q4_K,  format::q5_K, format::q6_K,
                             format::iq4_nl, format::iq4_xs};

float bell(float x) { return 0.02f * x; }
float peaked(float x) { return x * x * x; }
float shifted(float x) { return x + 1; }
float positive(float x) { return std::fabs(x); }
float sparse(float x) { return std::fabs(x) > 1 ? x : 0; }

}  // namespace

TEST_CASE("no encoder leaves more error than ggml's reference quantizer") {
    struct row {
        const char* shape_name;
        float (*shape)(float);
        double q8_0, q4_0, q4_K, q6_K;  ///< left by ggml, rounded up
    };
    constexpr row rows[] = {
        {"bell", bell, 2.568e-5, 6.631e-3, 4.750e-3, 2.881e-4},
        {"peaked", peaked, 6.504e-5, 1.155e-2, 8.263e-3, 5.544e-4},
        {"shifted", shifted, 2.320e-5, 5.827e-3, 2.333e-3, 2.610e-4},
        {"positive", positive, 2.569e-5, 6.431e-3, 1.585e-3, 2.862e-4},
        {"sparse", sparse, 9.993e-6, 2.768e-3, 2.341e-3, 8.523e-5},
    };
    for (const row& r : rows) {
        INFO(r.shape_name);
        const std::vector<float> values = values_of(r.shape);
        CHECK(relative_error(format::q8_0, values) <= r.q8_0);
        CHECK(relative_error(format::q4_0, values) <= r.q4_0);
        CHECK(relative_error(format::q4_K, values) <= r.q4_K);
        CHECK(relative_error(format::q6_K, values) <= r.q6_K);
    }
}

TEST_CASE("what was decoded from a format with one scale is encoded to the same values again") {
    for (const format f :
         {format::q1_0, format::q2_0, format::q4_0, format::q4_1, format::q5_0, format::q5_1,
          format::q8_0, format::mxfp4, format::nvfp4, format::tq1_0, format::tq2_0}) {
        INFO(name(f));
        const std::vector<float> once =
            decode_row(f, encode_row(f, values_of(bell)), std::int64_t{count});
        CHECK(relative_error(f, once) <= 1e-7);
    }
}

TEST_CASE("every level of a table comes back as it was") {
    const auto comes_back = [](format f, const std::int8_t(&levels)[16]) {
        INFO(name(f));
        std::vector<float> values(256);
        for (std::size_t i = 0; i < values.size(); ++i) values[i] = levels[i % 16];
        CHECK(decode_row(f, encode_row(f, values), 256) == values);
    };
    comes_back(format::iq4_nl, iq4_levels);
    comes_back(format::iq4_xs, iq4_levels);
    comes_back(format::mxfp4, doubled_e2m1);
    comes_back(format::nvfp4, doubled_e2m1);
}

TEST_CASE("mxfp4 takes the next power of two where the largest value would saturate") {
    const std::vector<float> values(32, 7.5f);
    for (const float x : decode_row(format::mxfp4, encode_row(format::mxfp4, values), 32))
        REQUIRE(x == 8);
}

TEST_CASE("a constant row keeps its value to the precision of its scales") {
    for (const format f : scaled)
        for (const float value : {1.0f, -1.0f, 0.03f, -700.0f, 65504.0f, -65504.0f}) {
            INFO(name(f) << " of " << value);
            const std::vector<float> back =
                decode_row(f, encode_row(f, std::vector<float>(256, value)), 256);
            for (const float x : back) REQUIRE(std::fabs(x - value) <= 0.005f * std::fabs(value));
        }
}

TEST_CASE("values too small for an f16 scale are lost, and nothing else happens") {
    for (const format f : scaled)
        for (const float scale : {1e-8f, 1e-20f, 1e-38f, 1e-44f}) {
            INFO(name(f) << " at " << scale);
            std::vector<float> values(256);
            fill_random_values(3, 0, values);
            for (float& x : values) x *= scale;
            for (const float x : decode_row(f, encode_row(f, values), 256))
                REQUIRE(std::fabs(x) <= 8 * scale);
        }
}
