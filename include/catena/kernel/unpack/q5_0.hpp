// q5_0 and q5_1: 22 and 24 bytes per 32 values: half d, in q5_1 also half m, a word of fifth bits,
// and nibbles as those of q4_0. A value of q5_0 is d * (five bits - 16): in the upper part of a
// byte, the top bit turned over, they are 8 times that. A value of q5_1 is d * five bits + m.
#pragma once

#include "catena/kernel/bits.hpp"
#include "catena/kernel/unpack/q4_1.hpp"

namespace CATENA_NAMESPACE::kernel {

template <>
struct unpack<format::q5_0> : with_half_scale<0, 8> {
    template <int N, class X>
    CATENA_FN static void words(X& x, placed_block block, int, int first, int (&q)[N]) {
        unsigned nibble[N], fifth[1];
        load_words<format::q5_0>(x, block, 2, fifth);
        load_nibbles<format::q5_0>(x, block, 6, first, nibble);
        CATENA_UNROLL
        for (int i = 0; i < N; ++i) {
            const unsigned low = (nibble[i] << 3) & 0x78787878u;
            const unsigned high = ~spread_nth<N>(fifth[0], first + i, 7) & 0x80808080u;
            q[i] = static_cast<int>(low | high);
        }
    }
};

template <>
struct unpack<format::q5_1> : with_d_m {
    template <int N, class X>
    CATENA_FN static void words(X& x, placed_block block, int, int first, int (&q)[N]) {
        unsigned nibble[N];
        const unsigned fifth = load_as<unsigned>(x, block + 4);
        load_nibbles<format::q5_1>(x, block, 8, first, nibble);
        CATENA_UNROLL
        for (int i = 0; i < N; ++i) {
            const unsigned high = spread_nth<N>(fifth, first + i, 4) & 0x10101010u;
            q[i] = static_cast<int>((nibble[i] & 0x0f0f0f0fu) | high);
        }
    }
};

}  // namespace CATENA_NAMESPACE::kernel
