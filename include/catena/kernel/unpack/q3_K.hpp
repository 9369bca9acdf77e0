// q3_K: 110 bytes per 256 values: 32 bytes of third bits, bit g of byte i that of value i of group
// g; 64 bytes of bit pairs as those of q2_K, 12 bytes of sixteen 6-bit scales that are 32 too
// large, half d. Three bits in the upper part of a byte, the top one turned over, are 32 * (three
// bits - 4) as an int8.
#pragma once

#include "catena/kernel/bits.hpp"
#include "catena/kernel/unpack.hpp"

namespace catena::kernel {

template <>
struct unpack<format::q3_K> {
    static constexpr int scales = 2;
    static constexpr bool mins = false;

    template <int N, class X>
    CATENA_FN static void words(X& x, const std::byte* block, int group, int first, int (&q)[N]) {
        unsigned low[N], high[N];
        load_words<format::q3_K>(x, block, 32 + group / 4 * 32 + 4 * first, low, group % 4 * 2 - 5);
        load_words<format::q3_K>(x, block, 4 * first, high, group - 7);
        CATENA_UNROLL
        for (int i = 0; i < N; ++i) {
            const unsigned third = bitwise<0x0c>(high[i], 0x80808080u, 0);  // ~high & ..
            q[i] = static_cast<int>((low[i] & 0x60606060u) | third);
        }
    }

    /// A group's two scales lie in neighbouring bytes: their low nibbles in bytes 0 .. 7, their
    /// high pairs in bytes 8 .. 11.
    template <class X>
    CATENA_FN static group_scales<2, false> scales_of(X& x, const std::byte* block, int group) {
        const unsigned nibbles = load_as<std::uint16_t>(x, block + 96 + group % 4 * 2);
        const unsigned pairs = load_as<std::uint16_t>(x, block + 104 + group % 2 * 2);
        const unsigned both = ((nibbles >> (group / 4 * 4)) & 0x0f0fu) |
                              (((pairs >> (group / 2 * 2)) & 0x0303u) << 4);
        const real d = load_half(x, block + 108) * real{1.0f / 32};
        return {{d * byte_less(x, both, 0, 32), d * byte_less(x, both, 1, 32)}};
    }
};

}  // namespace catena::kernel
