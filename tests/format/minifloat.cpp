// The floats of eight and four bits: every code, every tie, both ends.
#include "catena/format/minifloat.hpp"
#include "catena_test/catch.hpp"

using namespace catena;

namespace {

struct kind {
    int codes;  ///< of finite magnitudes
    std::uint8_t (*narrow)(std::uint32_t);
    std::uint32_t (*widen)(std::uint8_t);
};

constexpr kind kinds[] = {{0x7f, e4m3_from_f32_bits, f32_bits_from_e4m3},
                          {0x8, e2m1_from_f32_bits, f32_bits_from_e2m1}};

}  // namespace

TEST_CASE("Every finite minifloat survives f32; what lies between two goes to the nearer one") {
    for (const kind& k : kinds)
        for (int code = 0; code < k.codes; ++code) {
            const auto low = static_cast<std::uint8_t>(code);
            const std::uint32_t bits = k.widen(low);
            CHECK(k.narrow(bits) == low);
            CHECK(k.narrow(bits | 0x80000000u) == low + k.codes + (k.codes & 1));
            if (code + 1 == k.codes) continue;
            const auto high = static_cast<std::uint8_t>(code + 1);
            const float middle = (f32_from_bits(bits) + f32_from_bits(k.widen(high))) / 2;  // exact
            CHECK(k.narrow(f32_bits(middle) - 1) == low);
            CHECK(k.narrow(f32_bits(middle)) == (code % 2 == 0 ? low : high));
            CHECK(k.narrow(f32_bits(middle) + 1) == high);
        }
}

TEST_CASE("A minifloat saturates; what is not finite becomes e4m3's NaN") {
    CHECK(e4m3_from_f32_bits(f32_bits(448)) == 0x7e);
    CHECK(e4m3_from_f32_bits(f32_bits(1e30f)) == 0x7e);
    CHECK(e4m3_from_f32_bits(f32_bits(-1e30f)) == 0xfe);
    CHECK(e4m3_from_f32_bits(0x7f800000u) == e4m3_nan);
    CHECK(e4m3_from_f32_bits(0xff800000u) == e4m3_nan);
    CHECK(e4m3_from_f32_bits(0x7f800001u) == e4m3_nan);
    CHECK(f32_bits_from_e4m3(0xff) == f32_nan_bits);
    CHECK(e2m1_from_f32_bits(f32_bits(6)) == 7);
    CHECK(e2m1_from_f32_bits(f32_bits(-1e30f)) == 0xf);
}

TEST_CASE("A block's e8m0 brings its largest magnitude below twice the element's power of two") {
    for (const int power : {8, 2})
        for (std::uint32_t exponent = 0; exponent < 255; ++exponent) {
            const std::uint32_t largest = (exponent << 23) | 0x7fffffu;
            const std::uint8_t code = e8m0_of_block(largest, power);
            const int clamped = static_cast<int>(exponent) - power;
            CHECK(code == (clamped < 0 ? 0 : clamped));
        }
    CHECK(e8m0_of_block(0x7f800000u, 8) == e8m0_nan);
    CHECK(f32_bits_from_e8m0(e8m0_nan) == f32_nan_bits);
}
