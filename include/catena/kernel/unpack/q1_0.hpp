// q1_0 and q2_0: 18 bytes per 128 and per 64 values: half d, then bits, a 1 for d and a 0 for -d;
// or bit pairs, 0 .. 3 for -d .. 2d.
#pragma once

#include "catena/kernel/bits.hpp"
#include "catena/kernel/unpack.hpp"

namespace CATENA_NAMESPACE::kernel {

/// A bit becomes 64 or -64: a sign over a bit that is always set.
template <>
struct unpack<format::q1_0> : with_half_scale<0, 64> {
    template <int N, class X>
    CATENA_FN static void words(X& x, placed_block block, int group, int first, int (&q)[N]) {
        unsigned bits[1];
        load_words<format::q1_0>(x, block, 2 + 4 * group, bits);
        CATENA_UNROLL
        for (int i = 0; i < N; ++i) {
            const unsigned at_top = spread_nth<N>(bits[0], first + i, 7);
            q[i] = static_cast<int>(
                bitwise<0xae>(at_top, 0x80808080u, 0x40404040u));  // ~top & .. | ..
        }
    }
};

/// Pairs are spread to nibbles, eight at once, which then choose bytes.
template <>
struct unpack<format::q2_0> : with_half_scale<0> {
    template <int N, class X>
    CATENA_FN static void words(X& x, placed_block block, int group, int first, int (&q)[N]) {
        constexpr unsigned levels = 0x020100ffu;
        if constexpr (N == 1) {
            const auto byte = load_as<std::uint8_t>(x, block + 2 + 8 * group + first);
            q[0] = static_cast<int>(x.permute(levels, 0, nibbles_of(byte)));
        } else {
            unsigned pairs[2];
            load_words<format::q2_0>(x, block, 2 + 8 * group, pairs);
            CATENA_UNROLL
            for (int i = 0; i < 4; ++i) {
                const unsigned nibbles = nibbles_of((pairs[i / 2] >> (i % 2 * 16)) & 0xffffu);
                q[2 * i] = static_cast<int>(x.permute(levels, 0, nibbles));
                q[2 * i + 1] = static_cast<int>(x.permute(levels, 0, nibbles >> 16));
            }
        }
    }

    static constexpr int transposed_excess = 1;

    template <class X>
    CATENA_FN static void transposed_words(X& x, placed_block block, int group,
                                           int (&q)[group_words]) {
        unsigned pairs[2];
        load_words<format::q2_0>(x, block, 2 + 8 * group, pairs);
        CATENA_UNROLL
        for (int i = 0; i < group_words; ++i)
            q[i] = static_cast<int>(pairs[i / 4] >> 2 * (i % 4) & 0x03030303u);
    }

  private:
    CATENA_FN static unsigned nibbles_of(unsigned pairs) {
        const unsigned bytes = (pairs | pairs << 8) & 0x00ff00ffu;
        const unsigned fours = (bytes | bytes << 4) & 0x0f0f0f0fu;
        return (fours | fours << 2) & 0x33333333u;
    }
};

}  // namespace CATENA_NAMESPACE::kernel
