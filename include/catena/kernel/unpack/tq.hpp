// tq1_0 and tq2_0: 54 and 66 bytes per 256 values of -1, 0 or 1: digits, then half d. The bit pairs
// of tq2_0 lie as those of q2_K. A byte of tq1_0 is a fraction of 256 with five digits to base 3:
// times a power of 3, modulo 256, the digit wanted is the first; times 3 it stands above the byte.
#pragma once

#include "catena/kernel/bits.hpp"
#include "catena/kernel/unpack.hpp"

namespace CATENA_NAMESPACE::kernel {

/// Words of digits 0, 1 and 2, and less 1.
template <format F>
struct unpack_digits {
    static constexpr int excess = 1;

    template <int N, class X>
    CATENA_FN static void words(X& x, placed_block block, int group, int first, int (&q)[N]) {
        unpack<F>::raw_words(x, block, group, first, q);
        minus_one_each(q);
    }
};

template <>
struct unpack<format::tq1_0> : with_half_scale<52>, unpack_digits<format::tq1_0> {
    template <int N, class X>
    CATENA_FN static void raw_words(X& x, placed_block block, int group, int first, int (&q)[N]) {
        static_assert(N == 1 || N == group_words, "one word of a group, or all");
        CATENA_UNROLL
        for (int i = 0; i < N; i += 4) {
            const half at(group, (first + i) / 4);
            if constexpr (N == 1) {
                const int j = first % 4;
                unsigned bytes[1];
                load_words<format::tq1_0>(x, block, at.byte + 4 * chosen(at.last, 3, j), bytes);
                q[0] = digits(x, bytes[0], powers_of_3(x, chosen(at.last, j, at.digit)) & 0xffu);
            } else {
                unsigned bytes[4];
                load_words<format::tq1_0>(x, block, at.byte, bytes);
                const int wanted = chosen(at.last, 0x3210, at.digit * 0x1111);  // powers
                const unsigned powers = powers_of_3(x, wanted);
                CATENA_UNROLL
                for (int j = 0; j < 4; ++j)
                    q[i + j] = digits(x, chosen(at.last, bytes[3], bytes[j]),
                                      x.permute(powers, 0, 0x4440u + static_cast<unsigned>(j)));
            }
        }
    }

  private:
    /// By bits, since lanes that have other groups must not part ways.
    template <class T>
    CATENA_FN static T chosen(int mask, T yes, T no) {
        return (yes & static_cast<T>(mask)) | (no & static_cast<T>(~mask));
    }

    /// Where four words of a group have their bytes. Groups 0 .. 4 are the digits of bytes 0 .. 31,
    /// the next five halves those of bytes 32 .. 47. The last half is four digits of the word after
    /// these: the last of the four words that end with it.
    struct half {
        int last;  ///< a mask
        int byte, digit;

        CATENA_FN half(int group, int part) {
            const int front = (group - 5) >> 31, late = 2 * (group - 5) + part;
            last = ~((late - 5) >> 31) & -part;  // known when compiled, of part 0
            byte = chosen(front, 16 * part, 32 + (last & 4));
            digit = chosen(front, group, late);
        }
    };

    /// A byte for each nibble of `exponents`.
    template <class X>
    CATENA_FN static unsigned powers_of_3(X& x, int exponents) {
        return x.permute(0x1b090301u, 0x51u, static_cast<unsigned>(exponents));
    }

    /// The digit of each byte that `power` brings to the front.
    template <class X>
    CATENA_FN static int digits(X& x, unsigned bytes, unsigned power) {
        const unsigned even = (bytes & 0x00ff00ffu) * power & 0x00ff00ffu;
        const unsigned odd = x.permute(bytes, 0, 0x4341u) * power & 0x00ff00ffu;
        return static_cast<int>(x.permute(even * 3, odd * 3, 0x7351u));
    }
};

template <>
struct unpack<format::tq2_0> : with_half_scale<64>, unpack_digits<format::tq2_0> {
    template <int N, class X>
    CATENA_FN static void raw_words(X& x, placed_block block, int group, int first, int (&q)[N]) {
        unsigned word[N];
        load_words<format::tq2_0>(x, block, group / 4 * 32 + 4 * first, word, group % 4 * 2);
        CATENA_UNROLL
        for (int i = 0; i < N; ++i) q[i] = static_cast<int>(word[i] & 0x03030303u);
    }
};

}  // namespace CATENA_NAMESPACE::kernel
