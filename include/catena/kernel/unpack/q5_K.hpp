// q5_K: 176 bytes per 256 values: the 16 bytes that q4_K begins with, 32 bytes of fifth bits, bit g
// of byte i that of value i of group g, and nibbles as those of q4_K.
#pragma once

#include "catena/kernel/bits.hpp"
#include "catena/kernel/unpack/q4_K.hpp"

namespace CATENA_NAMESPACE::kernel {

template <>
struct unpack<format::q5_K> : with_k4_scales {
    template <int N, class X>
    CATENA_FN static void words(X& x, placed_block block, int group, int first, int (&q)[N]) {
        unsigned low[N], high[N];
        load_words<format::q5_K>(x, block, 48 + group / 2 * 32 + 4 * first, low);
        load_words<format::q5_K>(x, block, 16 + 4 * first, high);
        CATENA_UNROLL
        for (int i = 0; i < N; ++i) {
            const unsigned nibbles = (low[i] >> (group % 2 * 4)) & 0x0f0f0f0fu;
            q[i] = static_cast<int>(nibbles | (move_bit(x, high[i], group, 4) & 0x10101010u));
        }
    }
};

}  // namespace CATENA_NAMESPACE::kernel
