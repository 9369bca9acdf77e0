// tq1_0 and tq2_0: 54 and 66 bytes per 256 values of -1, 0 or 1: digits, then half d. The bit pairs
// of tq2_0 lie as those of q2_K. A byte of tq1_0 is a fraction of 256 with five digits to base 3:
// times a power of 3, modulo 256, the digit wanted is the first; times 3 it stands above the byte.
#pragma once

#include "catena/kernel/bits.hpp"
#include "catena/kernel/unpack.hpp"

namespace catena::kernel {

template <>
struct unpack<format::tq1_0> {
    static constexpr int scales = 1;
    static constexpr bool mins = false;

    template <int N, class X>
    CATENA_FN static void words(X& x, const std::byte* block, int group, int first, int (&q)[N]) {
        CATENA_UNROLL
        for (int i = 0; i < N; ++i) {
            const place at = place_of(group, first + i);
            unsigned bytes[1];
            load_words<format::tq1_0>(x, block + at.byte, bytes);
            const unsigned even = (bytes[0] & 0x00ff00ffu) * at.power & 0x00ff00ffu;
            const unsigned odd = (bytes[0] >> 8 & 0x00ff00ffu) * at.power & 0x00ff00ffu;
            const unsigned digits = (even * 3 >> 8 & 0x00030003u) | (odd * 3 & 0x03000300u);
            q[i] = static_cast<int>(minus_one_each(digits));
        }
    }

    template <class X>
    CATENA_FN static group_scales<1, false> scales_of(X& x, const std::byte* block, int) {
        return {{load_half(x, block + 52)}};
    }

  private:
    struct place {
        int byte;
        unsigned power;  ///< of 3, to the digit's number
    };

    /// Groups 0 .. 4 are digits of bytes 0 .. 31, the next five half groups of bytes 32 .. 47, the
    /// last four words of bytes 48 .. 51.
    CATENA_FN static place place_of(int group, int word) {
        const int half = 2 * (group - 5) + word / 4;
        const int digit = group < 5 ? group : half < 5 ? half : word - 4;
        const int byte = group < 5 ? 4 * word : half < 5 ? 32 + word % 4 * 4 : 48;
        const unsigned square = digit >= 2 ? 9 : 1, fourth = digit >= 4 ? 9 : 1;
        return {byte, square * fourth * (digit % 2 != 0 ? 3u : 1u)};
    }
};

template <>
struct unpack<format::tq2_0> {
    static constexpr int scales = 1;
    static constexpr bool mins = false;

    template <int N, class X>
    CATENA_FN static void words(X& x, const std::byte* block, int group, int first, int (&q)[N]) {
        unsigned word[N];
        load_words<format::tq2_0>(x, block + group / 4 * 32 + 4 * first, word);
        CATENA_UNROLL
        for (int i = 0; i < N; ++i)
            q[i] = static_cast<int>(minus_one_each((word[i] >> (group % 4 * 2)) & 0x03030303u));
    }

    template <class X>
    CATENA_FN static group_scales<1, false> scales_of(X& x, const std::byte* block, int) {
        return {{load_half(x, block + 64)}};
    }
};

}  // namespace catena::kernel
