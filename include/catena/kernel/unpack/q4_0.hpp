// q4_0: 18 bytes per 32 values: half d, 16 bytes whose low nibbles are values 0 .. 15 and whose
// high nibbles are values 16 .. 31, each 8 too large. A nibble in the upper half of its byte, with
// its top bit turned over, is 16 * (nibble - 8) as an int8.
#pragma once

#include "catena/kernel/unpack.hpp"

namespace CATENA_NAMESPACE::kernel {

template <>
struct unpack<format::q4_0> : with_half_scale<0, 16> {
    template <int N, class X>
    CATENA_FN static void words(X& x, placed_block block, int, int first, int (&q)[N]) {
        unsigned nibble[N];
        load_nibbles<format::q4_0>(x, block, 2, first, nibble);
        CATENA_UNROLL
        for (int i = 0; i < N; ++i)
            q[i] = static_cast<int>(((nibble[i] << 4) & 0xf0f0f0f0u) ^ 0x80808080u);
    }
};

}  // namespace CATENA_NAMESPACE::kernel
