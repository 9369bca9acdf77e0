// q2_K: 84 bytes per 256 values: 16 bytes of a 4-bit scale and a 4-bit min for each 16 values, 64
// bytes of bit pairs, half d, half dmin. Four groups share 32 bytes of pairs, group g the bits 2 (g
// % 4) and up.
#pragma once

#include "catena/kernel/unpack.hpp"

namespace CATENA_NAMESPACE::kernel {

template <>
struct unpack<format::q2_K> : with_scales<2, true> {
    template <int N, class X>
    CATENA_FN static void words(X& x, placed_block block, int group, int first, int (&q)[N]) {
        unsigned word[N];
        load_words<format::q2_K>(x, block, 16 + group / 4 * 32 + 4 * first, word);
        CATENA_UNROLL
        for (int i = 0; i < N; ++i)
            q[i] = static_cast<int>((word[i] >> (group % 4 * 2)) & 0x03030303u);
    }

    template <class X>
    CATENA_FN static group_scales<2, true> scales_of(X& x, placed_block block, int group) {
        const unsigned both = load_as<std::uint16_t>(x, block + 2 * group);
        const unsigned super = load_as<unsigned>(x, block + 80);
        const real d = from_half(static_cast<std::uint16_t>(super & 0xffffu));
        const real dmin = from_half(static_cast<std::uint16_t>(super >> 16));
        const auto nibble = [&](int i) {
            return from_int(static_cast<int>((both >> 4 * i) & 15u));
        };
        return {{d * nibble(0), d * nibble(2)}, {dmin * nibble(1), dmin * nibble(3)}};
    }

    static constexpr bool integer_scales = true;  // 3 * 15

    template <class X>
    CATENA_FN static void scaled_pair(X& x, placed_block block, int group, int i, integer_scale s,
                                      int (&q)[2]) {
        words(x, block, group, 2 * i, q);
        q[0] *= s.scale, q[1] *= s.scale;
    }

    template <class X>
    CATENA_FN static integer_scale integers_of(X& x, placed_block block, int group, int half) {
        const int both = load_as<std::uint8_t>(x, block + 2 * group + half);
        return {both & 15, (both >> 4) * 0x01010101};
    }

    template <class X>
    CATENA_FN static group_scales<1, true> factors_of(X& x, placed_block block) {
        const unsigned both = load_as<unsigned>(x, block + 80);
        return {{from_half(static_cast<std::uint16_t>(both & 0xffffu))},
                {from_half(static_cast<std::uint16_t>(both >> 16))}};
    }
};

}  // namespace CATENA_NAMESPACE::kernel
