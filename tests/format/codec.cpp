#include "catena/format/codec.hpp"
#include "catena/format/random.hpp"
#include "catena_test/catch.hpp"

#include <cmath>
#include <limits>

using namespace catena;
using Catch::Matchers::Contains;

namespace {

const std::vector<format> with_encoder = [] {
    std::vector<format> all;
    for (int i = 1; i < format_count; ++i)
        if (has_encoder(static_cast<format>(i))) all.push_back(static_cast<format>(i));
    return all;
}();
constexpr float quiet_nan = std::numeric_limits<float>::quiet_NaN();
constexpr float infinity = std::numeric_limits<float>::infinity();

std::vector<float> bell(std::size_t n) {
    std::vector<float> values(n);
    fill_random_values(1, 0, values);
    return values;
}

block_q8_1 quantize(const std::vector<float>& values) {
    block_q8_1 block;
    codec<format::q8_1>::encode(values.data(), &block);
    return block;
}

}  // namespace

TEST_CASE("a format without a codec says so") {
    static_assert(has_codec(format::q6_K));
    static_assert(!has_codec(format::unknown));
    static_assert(!has_codec(format::i32));
    CHECK_THROWS_WITH(encode_row(format::i32, bell(256)),
                      "There is no codec for format i32: add include/catena/format/i32.hpp and "
                      "include it from codec.hpp.");
    CHECK_THROWS_AS(decode_row(format::unknown, {}, 0), std::invalid_argument);
}

TEST_CASE("a codebook format has a decoder, and says that it has no encoder") {
    static_assert(has_codec(format::iq2_s) && !has_encoder(format::iq2_s));
    CHECK_THROWS_WITH(encode_row(format::iq2_s, bell(256)),
                      "Format iq2_s has no encoder, only a decoder: fill_random_blocks makes "
                      "blocks of it, ggml encodes to it.");
}

TEST_CASE("every weight format has a codec, and those without a codebook of points an encoder") {
    for (int i = 1; i < format_count; ++i) {
        const auto f = static_cast<format>(i);
        INFO(name(f));
        if (info(f).role != format_role::weight) continue;
        CHECK(has_codec(f));
        const std::string start = std::string(name(f)).substr(0, 3);
        CHECK(has_encoder(f) == (start != "iq1" && start != "iq2" && start != "iq3"));
    }
}

TEST_CASE("a row that is no whole number of blocks is refused with both lengths") {
    CHECK_THROWS_WITH(encode_row(format::q4_K, bell(300)),
                      "A row of 300 elements is no whole number of q4_K blocks of 256.");
    CHECK_THROWS_AS(encode_row(format::q8_1, bell(31)), std::invalid_argument);
}

TEST_CASE("a buffer of another size is refused with the size it needs") {
    std::vector<std::byte> bytes(143);
    CHECK_THROWS_WITH(encode_row(format::q4_K, bell(256), bytes),
                      "A row of 256 elements of q4_K takes 144 bytes; the buffer has 143.");
    CHECK_THROWS_AS(decode_row(format::q4_K, bytes, 256), std::invalid_argument);
}

TEST_CASE("weights that no scale can carry are refused with their place") {
    for (const format f :
         {format::q8_0, format::q4_0, format::q4_K, format::q6_K, format::nvfp4, format::fp8_e4m3})
        for (const float bad : {quiet_nan, infinity, -infinity, 1e5f}) {
            std::vector<float> values = bell(256);
            values[77] = bad;
            CHECK_THROWS_WITH(encode_row(f, values), Contains(name(f)) && Contains("element 77"));
        }
}

TEST_CASE("a refused weight is told how far its format goes") {
    CHECK_THROWS_WITH(encode_row(format::fp8_e4m3, std::vector<float>{448, -449}),
                      Contains("-449") && Contains("element 1: its weights go to 448."));
}

TEST_CASE("an empty row is encoded to nothing") {
    for (const format f : with_encoder) CHECK(encode_row(f, {}).empty());
}

TEST_CASE("zeros are encoded to zeros") {
    const std::vector<float> zeros(512);
    for (const format f : with_encoder) {
        INFO(name(f));
        CHECK(decode_row(f, encode_row(f, zeros), 512) == zeros);
    }
}

TEST_CASE("f32 and double decode to the same value, rounded once") {
    const std::vector<float> values = bell(2048);
    for (const format f : with_encoder) {
        INFO(name(f));
        const std::vector<std::byte> row = encode_row(f, values);
        const std::vector<float> narrow = decode_row(f, row, 2048);
        const std::vector<double> wide = decode_row<double>(f, row, 2048);
        for (std::size_t i = 0; i < wide.size(); ++i)
            REQUIRE(narrow[i] == static_cast<float>(wide[i]));
    }
}

TEST_CASE("a row is its blocks, one after the other") {
    const std::vector<float> values = bell(1024);
    for (const format f : with_encoder) {
        INFO(name(f));
        const std::vector<std::byte> row = encode_row(f, values);
        const auto half = static_cast<std::size_t>(row_bytes(f, 512));
        const std::vector<std::byte> tail = encode_row(f, std::span(values).subspan(512));
        CHECK(std::equal(tail.begin(), tail.end(), row.begin() + std::ptrdiff_t(half)));
    }
}

TEST_CASE("a q8_1 row is padded with zero bytes") {
    std::vector<std::byte> row(32 * 36, std::byte{0xff});
    encode_row(format::q8_1, bell(544), row);
    CHECK(row[17 * 36 - 1] != std::byte{});
    CHECK(std::all_of(row.begin() + 17 * 36, row.end(),
                      [](std::byte b) { return b == std::byte{}; }));
}

TEST_CASE("q8_1 rounds by the unrounded d, halves away from zero") {
    std::vector<float> values(32);
    values[0] = 127;
    values[1] = 0.5f;
    values[2] = -0.5f;
    values[3] = 1.4999999f;
    values[31] = -127;
    const block_q8_1 block = quantize(values);
    CHECK(f32_from_f16(block.d) == 1.0f);
    CHECK(f32_from_f16(block.s) == 1.0f);
    CHECK(block.qs[0] == 127);
    CHECK(block.qs[1] == 1);
    CHECK(block.qs[2] == -1);
    CHECK(block.qs[3] == 1);
    CHECK(block.qs[31] == -127);

    values.assign(32, 0.1f);  // d = 0.1 / 127 is no f16
    const block_q8_1 tenth = quantize(values);
    for (const std::int8_t q : tenth.qs) CHECK(q == 127);
    CHECK(tenth.d == f16_from_f32(0.1f / 127));
    CHECK(tenth.s == f16_from_f32(3.2f));
}

TEST_CASE("the s of q8_1 is the sum of what the int8 stand for") {
    std::vector<float> values(32, 0.4f);
    values[0] = 127;  // d = 1: the others are rounded to 0
    CHECK(quantize_32(values.data()).sum == 127);
    values.assign(32, 0.6f);
    values[0] = 127;
    CHECK(quantize_32(values.data()).sum == 127 + 31);
    values[0] = -254;  // d = 2: 0.6 is 0.3 of it
    CHECK(quantize_32(values.data()).sum == -254);
}

TEST_CASE("a q8_1 block that holds a NaN or an infinity is all NaN") {
    for (const float bad : {quiet_nan, -quiet_nan, infinity, -infinity}) {
        std::vector<float> values = bell(32);
        values[9] = bad;
        const block_q8_1 block = quantize(values);
        CHECK(block.d == f16_nan);
        CHECK(block.s == f16_nan);
        for (const std::int8_t q : block.qs) CHECK(q == 0);
    }
}

TEST_CASE("q8_1 keeps its rule where the f16 d or s leaves its range") {
    std::vector<float> values(32, 1e-6f);
    const block_q8_1 tiny = quantize(values);
    CHECK(tiny.d == 0);  // 7.9e-9 is below half the smallest f16
    for (const std::int8_t q : tiny.qs) CHECK(q == 127);

    values.assign(32, 1e7f);
    const block_q8_1 huge = quantize(values);
    CHECK(huge.d == 0x7c00);
    CHECK(huge.s == 0x7c00);
    for (const std::int8_t q : huge.qs) CHECK(q == 127);

    values.assign(32, 0);  // amax / 127 underflows even f32: x / 0 saturates
    values[0] = std::numeric_limits<float>::denorm_min();
    values[1] = -values[0];
    const block_q8_1 least = quantize(values);
    CHECK(least.d == 0);
    CHECK(least.qs[0] == 127);
    CHECK(least.qs[1] == -128);
    CHECK(least.qs[2] == 0);
}

TEST_CASE("d2s6 has a scale for 64 values, and the sums of 16 of the first 96") {
    std::vector<float> values(128, 1.0f);
    values[60] = 127;   // the scale of the first 64
    values[64] = -254;  // of the others
    values[100] = 3;
    block_q8_1_mmq_d2s6 b;
    codec<format::q8_1_mmq_d2s6>::encode(values.data(), &b);
    CHECK(b.d[0] == f16_from_f32(1));
    CHECK(b.d[1] == f16_from_f32(2));
    // 1 is half of the second scale, and a half is rounded to one.
    const float sums[] = {16, 16, 16, 142, -254 + 15 * 2, 16 * 2};
    for (int i = 0; i < 6; ++i) CHECK(b.s[i] == f16_from_f32(sums[i]));
    CHECK(b.qs[0] == 1);
    CHECK(b.qs[60] == 127);
    CHECK(b.qs[64] == -127);
    CHECK(b.qs[65] == 1);  // a half, away from zero
    CHECK(b.qs[100] == 2);
    values[33] = quiet_nan;
    codec<format::q8_1_mmq_d2s6>::encode(values.data(), &b);
    CHECK(b.d[0] == f16_nan);
    CHECK(b.s[0] == f16_nan);
    CHECK(b.s[4] == f16_from_f32(-224));
    CHECK(b.qs[60] == 0);
}

TEST_CASE("the layouts of a matmul hold four q8_1 blocks, scales in front") {
    std::vector<float> values = bell(128);
    values[40] = infinity;
    block_q8_1_mmq_d4 d4;
    block_q8_1_mmq_ds4 ds4;
    codec<format::q8_1_mmq_d4>::encode(values.data(), &d4);
    codec<format::q8_1_mmq_ds4>::encode(values.data(), &ds4);
    for (std::size_t part = 0; part < 4; ++part) {
        const std::vector<float> quarter(values.begin() + std::ptrdiff_t(32 * part),
                                         values.begin() + std::ptrdiff_t(32 * part + 32));
        const block_q8_1 one = quantize(quarter);
        CHECK(f16_from_f32(d4.d[part]) == one.d);
        CHECK(ds4.scales[part].d == one.d);
        CHECK(ds4.scales[part].s == one.s);
        CHECK(std::equal(one.qs, one.qs + 32, d4.qs + 32 * part));
        CHECK(std::equal(one.qs, one.qs + 32, ds4.qs + 32 * part));
    }
    CHECK(f32_bits(d4.d[1]) == f32_nan_bits);
    values[40] = 0.1f;  // d in f32 is not rounded to f16
    values[41] = 127;
    codec<format::q8_1_mmq_d4>::encode(values.data(), &d4);
    CHECK(d4.d[1] == 1);
    values[41] = 12.7f;
    codec<format::q8_1_mmq_d4>::encode(values.data(), &d4);
    CHECK(d4.d[1] == 12.7f / 127);
}
