// q3_K: 110 bytes per 256 values: 32 bytes of third bits, bit g of byte i that of value i of group
// g; 64 bytes of bit pairs as those of q2_K, 12 bytes of sixteen 6-bit scales that are 32 too
// large, half d. Three bits in the upper part of a byte, the top one turned over, are 32 * (three
// bits - 4) as an int8.
#pragma once

#include "catena/kernel/bits.hpp"
#include "catena/kernel/unpack.hpp"

namespace CATENA_NAMESPACE::kernel {

template <>
struct unpack<format::q3_K> : with_scales<2, false> {
    template <int N, class X>
    CATENA_FN static void words(X& x, placed_block block, int group, int first, int (&q)[N]) {
        unsigned low[N], high[N];
        load_words<format::q3_K>(x, block, 32 + group / 4 * 32 + 4 * first, low, group % 4 * 2 - 5);
        load_words<format::q3_K>(x, block, 4 * first, high, group - 7);
        CATENA_UNROLL
        for (int i = 0; i < N; ++i) {
            const unsigned third = bitwise<0x0c>(high[i], 0x80808080u, 0);  // ~high & ..
            q[i] = static_cast<int>((low[i] & 0x60606060u) | third);
        }
    }

    /// A group's two scales lie in neighboring bytes: their low nibbles in bytes 0 .. 7, their
    /// high pairs in bytes 8 .. 11.
    template <class X>
    CATENA_FN static group_scales<2, false> scales_of(X& x, placed_block block, int group) {
        const unsigned nibbles = load_as<std::uint16_t>(x, block + 96 + group % 4 * 2);
        const unsigned pairs = load_as<std::uint16_t>(x, block + 104 + group % 2 * 2);
        const unsigned both = ((nibbles >> (group / 4 * 4)) & 0x0f0fu) |
                              (((pairs >> (group / 2 * 2)) & 0x0303u) << 4);
        const real d = load_half(x, block + 108) * real{1.0f / 32};
        return {{d * byte_less(x, both, 0, 32), d * byte_less(x, both, 1, 32)}};
    }

    static constexpr bool integer_scales = true;  // negated, so that -4 * 32 is the largest

    /// A word is a number whose digits to the base of 256 are q * scale + 128: none is negative,
    /// and so four bytes are multiplied at once. Without its third bit q is 4 less.
    template <class X>
    CATENA_FN static void scaled_pair(X& x, placed_block block, int group, int i, integer_scale s,
                                      int (&q)[2]) {
        constexpr int ones = 0x01010101;
        unsigned low[2], high[2];
        load_words<format::q3_K>(x, block, 32 + group / 4 * 32 + 8 * i, low, group % 4 * 2);
        load_words<format::q3_K>(x, block, 8 * i, high, group - 2);
        CATENA_UNROLL
        for (int w = 0; w < 2; ++w) {
            const unsigned more = (low[w] & 3 * ones) | (high[w] & 4 * ones);
            q[w] = static_cast<int>(
                (more * static_cast<unsigned>(s.scale) + static_cast<unsigned>(s.rest)) ^
                0x80808080u);
        }
    }

    template <class X>
    CATENA_FN static integer_scale integers_of(X& x, placed_block block, int group, int half) {
        const int at = 2 * group + half;
        const int nibble = load_as<std::uint8_t>(x, block + 96 + at % 8) >> (at / 8 * 4) & 15;
        const int pair = load_as<std::uint8_t>(x, block + 104 + at % 4) >> (at / 4 * 2) & 3;
        const int scale = 32 - (nibble | pair << 4);
        return {scale, static_cast<int>(static_cast<unsigned>(128 - 4 * scale) * 0x01010101u)};
    }

    template <class X>
    CATENA_FN static group_scales<1, false> factors_of(X& x, placed_block block) {
        return {{-load_half(x, block + 108)}};
    }
};

}  // namespace CATENA_NAMESPACE::kernel
