// q6_K: 210 bytes per 256 values: 128 bytes of low nibbles, 64 bytes of high bit pairs, 16 int8
// scales, half d; each 6-bit value is 32 too large. Four groups share 64 bytes of nibbles (two in
// the low ones, two in the high ones) and 32 of pairs. A value in the upper bits of its byte, with
// the top one turned over, is 4 * (value - 32) as an int8.
#pragma once

#include "catena/kernel/bits.hpp"
#include "catena/kernel/unpack.hpp"

namespace CATENA_NAMESPACE::kernel {

template <>
struct unpack<format::q6_K> : with_scales<2, false> {
    template <int N, class X>
    CATENA_FN static void words(X& x, placed_block block, int group, int first, int (&q)[N]) {
        // Not divided by 4 first: in code of several groups that is another address for each.
        const int half = group & 4, part = group % 4;
        unsigned low[N], high[N];  // at the places of 4 * value
        load_words<format::q6_K, neighbor::behind>(x, block, half * 16 + part % 2 * 32 + 4 * first,
                                                   low, part / 2 * 4 - 2);
        load_words<format::q6_K, neighbor::behind>(x, block, 128 + half * 8 + 4 * first, high,
                                                   part * 2 - 6);
        CATENA_UNROLL
        for (int i = 0; i < N; ++i) {
            // One instruction: (high & 0xc0..) ^ 0x80...
            const unsigned upper = bitwise<0x6a>(high[i], 0xc0c0c0c0u, kept<0x80808080u>());
            q[i] = static_cast<int>((low[i] & 0x3c3c3c3cu) | upper);
        }
    }

    template <class X>
    CATENA_FN static group_scales<2, false> scales_of(X& x, placed_block block, int group) {
        const unsigned both = load_as<std::uint16_t>(x, block + 192 + 2 * group);
        const real d = load_half(x, block + 208) * real{1.0f / 4};
        return {{d * from_int(static_cast<std::int8_t>(both & 0xffu)),
                 d * from_int(static_cast<std::int8_t>(both >> 8))}};
    }
};

}  // namespace CATENA_NAMESPACE::kernel
