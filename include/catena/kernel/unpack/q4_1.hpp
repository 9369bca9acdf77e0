// q4_1: 20 bytes per 32 values: half d, half m, 16 bytes whose low nibbles are values 0 .. 15 and
// whose high nibbles are values 16 .. 31; a value is d * nibble + m.
#pragma once

#include "catena/kernel/unpack.hpp"

namespace CATENA_NAMESPACE::kernel {

/// Blocks that begin with d and m: a scale, and a min of -m.
struct with_d_m : with_scales<1, true> {
    template <class X>
    CATENA_FN static group_scales<1, true> scales_of(X& x, placed_block block, int) {
        const unsigned both = load_as<unsigned>(x, block);
        return {{from_half(static_cast<std::uint16_t>(both & 0xffffu))},
                {-from_half(static_cast<std::uint16_t>(both >> 16))}};
    }
};

template <>
struct unpack<format::q4_1> : with_d_m {
    template <int N, class X>
    CATENA_FN static void words(X& x, placed_block block, int, int first, int (&q)[N]) {
        unsigned nibble[N];
        load_nibbles<format::q4_1>(x, block, 4, first, nibble);
        CATENA_UNROLL
        for (int i = 0; i < N; ++i) q[i] = static_cast<int>(nibble[i] & 0x0f0f0f0fu);
    }
};

}  // namespace CATENA_NAMESPACE::kernel
