// Where each value of a block has its bits: changing those bits changes that value and no other.
#include "catena/format/codec.hpp"
#include "catena_test/catch.hpp"

#include <cmath>
#include <cstddef>
#include <cstring>
#include <vector>

using namespace catena;

namespace {

/// The levels that a block decodes to when all its scales are one.
template <format F>
std::vector<float> levels_of(const typename codec<F>::block& block) {
    std::vector<float> values(static_cast<std::size_t>(info(F).block_elements));
    codec<F>::decode(&block, values.data());
    return values;
}

/// Sets the level of each element in turn by set(block, element, level) and decodes.
template <format F, class Set>
void check_levels(typename codec<F>::block block, int levels, int offset, Set set) {
    const std::vector<float> before = levels_of<F>(block);
    for (int element = 0; element < info(F).block_elements; ++element)
        for (int level = 0; level < levels; ++level) {
            auto changed = block;
            set(changed, element, level);
            std::vector<float> expected = before;
            expected[static_cast<std::size_t>(element)] = static_cast<float>(level + offset);
            REQUIRE(levels_of<F>(changed) == expected);
        }
}

void put(std::uint8_t& byte, int shift, int bits, int value) {
    const int mask = ((1 << bits) - 1) << shift;
    byte = static_cast<std::uint8_t>((byte & ~mask) | value << shift);
}

constexpr std::uint16_t one = 0x3c00;

}  // namespace

TEST_CASE("q8_0 and q8_1 hold value i in byte i") {
    check_levels<format::q8_0>({one, {}}, 256, -128, [](block_q8_0& b, int i, int level) {
        b.qs[i] = static_cast<std::int8_t>(level - 128);
    });
    check_levels<format::q8_1>({1.0f, {}}, 256, -128, [](block_q8_1& b, int i, int level) {
        b.qs[i] = static_cast<std::int8_t>(level - 128);
    });
}

TEST_CASE("q4_0 holds the first sixteen values in low nibbles, the others in high ones") {
    check_levels<format::q4_0>({one, {}}, 16, -8, [](block_q4_0& b, int i, int level) {
        put(b.qs[i % 16], i / 16 * 4, 4, level);
    });
}

TEST_CASE("q4_K holds each 64 values in 32 bytes, the first half in low nibbles") {
    block_q4_K block{one, 0, {}, {}};
    scale_min ones[8];
    for (scale_min& part : ones) part = {1, 0};
    pack_scale_min(ones, block.scales);
    check_levels<format::q4_K>(block, 16, 0, [](block_q4_K& b, int i, int level) {
        put(b.qs[i / 64 * 32 + i % 32], i % 64 / 32 * 4, 4, level);
    });
}

TEST_CASE("q6_K holds low nibbles in ql and two high bits in qh, for each half of 128 values") {
    block_q6_K block{};
    block.d = one;
    for (std::int8_t& scale : block.scales) scale = 1;
    check_levels<format::q6_K>(block, 64, -32, [](block_q6_K& b, int i, int level) {
        put(b.ql[i / 128 * 64 + i % 64], i % 128 / 64 * 4, 4, level & 15);
        put(b.qh[i / 128 * 32 + i % 32], i % 128 / 32 * 2, 2, level >> 4);
    });
}

TEST_CASE("q6_K scales its values in parts of sixteen, with a sign") {
    block_q6_K block{};
    block.d = one;
    for (int part = 0; part < 16; ++part)
        block.scales[part] = static_cast<std::int8_t>(part * 16 - 128);
    const std::vector<float> values = levels_of<format::q6_K>(block);
    for (int i = 0; i < 256; ++i)
        REQUIRE(values[static_cast<std::size_t>(i)] ==
                static_cast<float>((i / 16 * 16 - 128) * -32));
}

TEST_CASE("q4_K's scales and mins survive packing, each alone and all at once") {
    for (int part = 0; part < 8; ++part)
        for (int value = 0; value < 64; ++value)
            for (const bool is_min : {false, true}) {
                scale_min parts[8] = {};
                (is_min ? parts[part].min : parts[part].scale) = value;
                std::uint8_t packed[12];
                pack_scale_min(parts, packed);
                for (int i = 0; i < 8; ++i) {
                    const scale_min back = unpack_scale_min(packed, i);
                    REQUIRE(back.scale == parts[i].scale);
                    REQUIRE(back.min == parts[i].min);
                }
            }
    scale_min parts[8];
    for (int i = 0; i < 8; ++i) parts[i] = {63 - i, 40 + 3 * i};
    std::uint8_t packed[12];
    pack_scale_min(parts, packed);
    for (int i = 0; i < 8; ++i) {
        CHECK(unpack_scale_min(packed, i).scale == 63 - i);
        CHECK(unpack_scale_min(packed, i).min == 40 + 3 * i);
    }
}

TEST_CASE("q4_K subtracts min times dmin") {
    block_q4_K block{one, 0x4000, {}, {}};  // d = 1, dmin = 2
    scale_min parts[8];
    for (int i = 0; i < 8; ++i) parts[i] = {i, 2 * i + 1};
    pack_scale_min(parts, block.scales);
    std::memset(block.qs, 0x33, sizeof block.qs);
    const std::vector<float> values = levels_of<format::q4_K>(block);
    for (int i = 0; i < 256; ++i)
        REQUIRE(values[static_cast<std::size_t>(i)] ==
                static_cast<float>(3 * (i / 32) - 2 * (2 * (i / 32) + 1)));
}

TEST_CASE("mxfp4 has powers of two as scales down to 2^-127, nvfp4 reads the NaN of one as 0") {
    for (const int e : {0, 1, 2, 127}) {
        const block_mxfp4 block{static_cast<std::uint8_t>(e), {2}};  // an e2m1 of 1
        CHECK(levels_of<format::mxfp4>(block).front() == std::ldexp(1.0f, e - 127));
    }
    const block_nvfp4 block{{e4m3_nan, 0x38}, {2, 0, 0, 0, 0, 0, 0, 0, 2}};
    CHECK(levels_of<format::nvfp4>(block)[0] == 0);
    CHECK(levels_of<format::nvfp4>(block)[16] == 1);
}
