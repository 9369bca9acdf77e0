#include "has_encoder.hpp"

#include "catena/format/codec.hpp"
#include "catena/format/random.hpp"
#include "catena_test/catch.hpp"

#include <cmath>
#include <limits>

using namespace catena;
using Catch::Matchers::Contains;
using catena_test::has_encoder;

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
    CHECK(block.d == 1.0f);
    CHECK(block.qs[0] == 127);
    CHECK(block.qs[1] == 1);
    CHECK(block.qs[2] == -1);
    CHECK(block.qs[3] == 1);
    CHECK(block.qs[31] == -127);

    values.assign(32, 0.1f);
    const block_q8_1 tenth = quantize(values);
    for (const std::int8_t q : tenth.qs) CHECK(q == 127);
    CHECK(tenth.d == 0.1f / 127);
}

TEST_CASE("a q8_1 block that holds a NaN or an infinity is all NaN") {
    for (const float bad : {quiet_nan, -quiet_nan, infinity, -infinity}) {
        std::vector<float> values = bell(32);
        values[9] = bad;
        const block_q8_1 block = quantize(values);
        CHECK(f32_bits(block.d) == f32_nan_bits);
        for (const std::int8_t q : block.qs) CHECK(q == 0);
    }
}

TEST_CASE("q8_1 holds values of every size") {
    for (const float size : {1e-30f, 1e-6f, 1e7f, 3e38f}) {
        const block_q8_1 block = quantize(std::vector<float>(32, size));
        CHECK(block.d == size / 127);
        for (const std::int8_t q : block.qs) CHECK(q == 127);
    }
    std::vector<float> values(32, 0);  // amax / 127 underflows: x / 0 saturates
    values[0] = std::numeric_limits<float>::denorm_min();
    values[1] = -values[0];
    const block_q8_1 least = quantize(values);
    CHECK(least.d == 0);
    CHECK(least.qs[0] == 127);
    CHECK(least.qs[1] == -128);
    CHECK(least.qs[2] == 0);
}

TEST_CASE("a word of ds4 has d as a tf32, and the sum of the int8") {
    const auto word_of = [](std::vector<float> values) {
        return ds4_word(quantize_32(values.data()));
    };
    const auto sum_in = [](std::uint32_t word) { return static_cast<int>(word << 19) >> 19; };
    const auto d_in = [](std::uint32_t word) { return f32_from_bits(word & ~ds4_sum_mask); };
    std::vector<float> values(32, 0.4f);
    values[0] = 127;  // d = 1: the others are rounded to 0
    CHECK(d_in(word_of(values)) == 1);
    CHECK(sum_in(word_of(values)) == 127);
    values.assign(32, 0.6f);
    values[0] = -254;  // d = 2: 0.6 is 0.3 of it
    CHECK(d_in(word_of(values)) == 2);
    CHECK(sum_in(word_of(values)) == -127);
    for (const float size : {-3e38f, -1e-30f, 1e-30f, 2100.f, 3e38f}) {
        const std::uint32_t word = word_of(std::vector<float>(32, size));
        CHECK(sum_in(word) == (size < 0 ? -4064 : 4064));
        CHECK(std::abs(d_in(word) * 127 / std::abs(size) - 1) <= 1.0f / 2048);
    }
    CHECK(d_in(word_of(std::vector<float>(32, 127 * (1 + 1.0f / 2048)))) == 1 + 1.0f / 1024);
    CHECK(word_of(std::vector<float>(32, 0)) == 0);
    values[7] = infinity;
    CHECK(std::isnan(d_in(word_of(values))));
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
        CHECK(f32_bits(d4.d[part]) == f32_bits(one.d));
        CHECK(ds4.ds[part] == ds4_word(quantize_32(quarter.data())));
        CHECK(std::equal(one.qs, one.qs + 32, d4.qs + 32 * part));
        CHECK(std::equal(one.qs, one.qs + 32, ds4.qs + 32 * part));
    }
    CHECK(f32_bits(d4.d[1]) == f32_nan_bits);
}
