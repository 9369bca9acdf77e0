// q4_K: 144 bytes per 256 values: half d, half dmin, 12 bytes of eight 6-bit scales and mins, 128
// bytes of nibbles. Chunk c (32 bytes) holds group 2c in its low nibbles and 2c + 1 in its high
// nibbles; a value is d * scale * nibble - dmin * min.
#pragma once

#include "catena/kernel/unpack.hpp"

namespace CATENA_NAMESPACE::kernel {

/// The 6-bit scale and min of a group of q4_K and q5_K, times d and dmin: their blocks begin alike.
/// Bytes 4 .. 7 hold the low 6 bits of scales 0 .. 3, bytes 8 .. 11 those of mins 0 .. 3; their top
/// 2 bits and the nibbles of bytes 12 .. 15 make scales and mins 4 .. 7.
struct with_k4_scales : with_scales<1, true> {
    template <class X>
    CATENA_FN static group_scales<1, true> scales_of(X& x, placed_block block, int group) {
        const word4 head = x.load16(block);
        const auto at = static_cast<unsigned>(group) & 3u;
        // Byte 0 of a pair is the scale's, byte 1 the min's.
        const unsigned low = x.permute(head.y, head.z, at * 0x11u + 0x40u);
        const unsigned nibbles = x.permute(head.w, head.w >> 4, at * 0x11u + 0x40u) & 0x0f0fu;
        const unsigned upper = nibbles | (low >> 2 & 0x3030u);
        const unsigned both = group < 4 ? low & 0x3f3fu : upper;
        const unsigned scale = both & 0xffu, min = both >> 8 & 0xffu;
        const real d = from_half(static_cast<std::uint16_t>(head.x & 0xffffu));
        const real dmin = from_half(static_cast<std::uint16_t>(head.x >> 16));
        return {{d * from_int(static_cast<int>(scale))}, {dmin * from_int(static_cast<int>(min))}};
    }

    /// Those of both groups of a pair, as integers. Bytes 0 and 1 are the scales, 2 and 3 the mins.
    template <class X>
    CATENA_FN static pair_scales scales_of_pair(X& x, placed_block block, int pair) {
        const word4 head = x.load16(block);
        const unsigned at = (static_cast<unsigned>(pair) & 1u) * 0x2222u + 0x5410u;
        const unsigned low = x.permute(head.y, head.z, at);
        const unsigned nibbles = x.permute(head.w, head.w >> 4, at) & 0x0f0f0f0fu;
        const unsigned upper = nibbles | (low >> 2 & 0x30303030u);
        return {from_half(static_cast<std::uint16_t>(head.x & 0xffffu)),
                from_half(static_cast<std::uint16_t>(head.x >> 16)),
                pair < 2 ? low & 0x3f3f3f3fu : upper};
    }
};

template <>
struct unpack<format::q4_K> : with_k4_scales {
    template <int N, class X>
    CATENA_FN static void words(X& x, placed_block block, int group, int first, int (&q)[N]) {
        unsigned word[N];
        load_words<format::q4_K>(x, block, 16 + group / 2 * 32 + 4 * first, word);
        CATENA_UNROLL
        for (int i = 0; i < N; ++i)
            q[i] = static_cast<int>((word[i] >> (group % 2 * 4)) & 0x0f0f0f0fu);
    }

    CATENA_FN static constexpr int place_of_pair(int group) { return 16 + group / 2 * 32; }
    CATENA_FN static unsigned first_of_pair(unsigned word) { return word & 0x0f0f0f0fu; }
    CATENA_FN static unsigned second_of_pair(unsigned word) { return word >> 4 & 0x0f0f0f0fu; }

    CATENA_FN static constexpr unsigned times_in_place(int group) {
        return group % 2 == 0 ? 1 : 16;
    }
    CATENA_FN static constexpr float share_in_place(int group) {
        return group % 2 == 0 ? 1 : 1.0f / 16;
    }
    CATENA_FN static constexpr unsigned mask_in_place(int group) {
        return group % 2 == 0 ? 0x0f0f0f0fu : 0xf0f0f0f0u;
    }
    template <class X>
    CATENA_FN static void words_in_place(X& x, placed_block block, int group,
                                         unsigned (&q)[group_words]) {
        const unsigned mask = mask_in_place(group);
        load_words<format::q4_K>(x, block, place_of_pair(group), q);
        CATENA_UNROLL
        for (int i = 0; i < group_words; ++i) q[i] &= mask;
    }
};

}  // namespace CATENA_NAMESPACE::kernel
