// q8_0: 34 bytes per 32 values: half d, int8 q[32].
#pragma once

#include "catena/kernel/unpack.hpp"

namespace CATENA_NAMESPACE::kernel {

template <>
struct unpack<format::q8_0> : with_half_scale<0> {
    template <int N, class X>
    CATENA_FN static void words(X& x, placed_block block, int, int first, int (&q)[N]) {
        unsigned word[N];
        load_words<format::q8_0, neighbor::before>(x, block, 2 + 4 * first, word);
        CATENA_UNROLL
        for (int i = 0; i < N; ++i) q[i] = static_cast<int>(word[i]);
    }
};

}  // namespace CATENA_NAMESPACE::kernel
