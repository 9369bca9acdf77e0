// How a weight format is taken apart, once for every skeleton. A *group* is 32 consecutive values
// of a weight row, never across a block; its eight *words* hold four int8 each, word i the values
// 4i .. 4i + 3. One header per format in kernel/unpack/ specializes `unpack`; the skeletons know
// nothing else about formats.
#pragma once

#include "catena/exec/executor.hpp"
#include "catena/exec/real.hpp"
#include "catena/format/format.hpp"
#include "catena/format/half.hpp"
#include "catena/kernel/bits.hpp"

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace CATENA_NAMESPACE::kernel {

inline constexpr int group_values = 32;
inline constexpr int group_words = 8;

/// A block of a weight row in shared memory, and how many bytes it lies behind a multiple of 4,
/// which a loop that goes on by multiples of 4 computes once.
struct placed_block {
    const std::byte* at;
    unsigned past;

    placed_block() = default;
    CATENA_FN placed_block(const std::byte* p)
        : at(p), past(static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(p)) & 3u) {}
    CATENA_FN operator const std::byte*() const { return at; }
};

/// Minimal complete definition of a weight format F:
///
///     static constexpr int scales;  // 1 for the group, or 2: one for each half of 16 values
///     static constexpr bool mins;   // a value is scale * q - min; else scale * q
///     // Words first .. first + N - 1 of the block's group: N = 8 and first = 0, or N = 1.
///     template <int N, class X>
///     static void words(X& x, placed_block block, int group, int first, int (&q)[N]);
///     template <class X>
///     static group_scales<scales, mins> scales_of(X& x, placed_block block, int group);
///
/// `block` lies in shared memory, aligned as `block_alignment` says; any aligned 4-byte word that
/// holds a byte of it may be loaded. The zero point of a value is already subtracted from q. If q
/// has bits to spare, its value may stand in the upper ones (16 times a nibble), and the scale
/// makes up for it by a power of two: that often saves the shift and always the subtraction. Scales
/// and mins are exact products of what the block holds.
///
/// Optional words without the zero point, for a format in which its subtraction costs much. Every q
/// is too large by `excess`, which an inner product corrects by the sum of the activation.
///
///     static constexpr int excess;
///     template <int N, class X>
///     static void raw_words(X& x, placed_block block, int group, int first, int (&q)[N]);
///
/// Optional words of eight values, for a format in which eight cost as much as four: two words of a
/// group at a time, i = 0 .. 3, and their numbers. With two scales, eights 0 and 1 have the first.
///
///     template <class X>
///     static void eight(X& x, placed_block block, int group, int i, int (&q)[2]);
///     static constexpr int word_of_eight(int i, int word);
///     static constexpr byte_order order = ..;  // optional: the order of bytes in the two words
///
/// Optional words with transposed bytes, for a format in which four such words cost less: byte b of
/// word 4h + j is that of value 16h + 4b + j, too large by `transposed_excess`. dp4a then
/// transposes the activation.
///
///     static constexpr int transposed_excess;
///     template <class X>
///     static void transposed_words(X& x, placed_block block, int group,
///                                  int (&q)[group_words]);
///
/// Optional words as sums, for a format with a table that costs less as a sum of two: all words of
/// a group as two summands, each of which a dp4a multiplies with the activation. The bytes of two
/// words, which `word_of_summands` names for i = 0 .. 3, stand in turn; dp4a then permutes the
/// activation.
///
///     template <class X>
///     static void summands(X& x, placed_block block, int group, int (&q)[2][group_words]);
///     static constexpr int word_of_summands(int i, int word);
///
/// Optional words in place, for a format whose groups share bytes, so that a group's bits need no
/// shift. Every q is an unsigned byte, `times_in_place` times its value, of which that value has
/// the share `share_in_place`. dp4a corrects it.
///
///     static constexpr unsigned times_in_place(int group);  // a power of two, 128 at most
///     static constexpr float share_in_place(int group);
///     static constexpr unsigned mask_in_place(int group);  // of a word, the group's bits
///     template <class X>
///     static void words_in_place(X& x, placed_block block, int group,
///                                unsigned (&q)[group_words]);
///
/// Optional pairs, for a format in whose blocks two neighboring groups share 32 bytes, which begin
/// at a multiple of 16: where those of an even group begin, and what a word of them is of each
/// group.
///
///     static constexpr int place_of_pair(int group);
///     static unsigned first_of_pair(unsigned word);
///     static unsigned second_of_pair(unsigned word);
///     // With words in place, whose scales and mins have 6 bits: those of both groups.
///     template <class X>
///     static pair_scales scales_of_pair(X& x, placed_block block, int pair);
///
/// Optional integer scales, for a format in which a scale of 16 values is a factor of the block
/// times an integer, and q times that integer is an int8. Words may then be multiplied before a
/// tensor core adds their products. A min is then a factor times an int8, too, and `rest` is that
/// int8 four times; without mins `rest` is the format's own.
///
///     static constexpr bool integer_scales = true;
///     // Words 2i and 2i + 1 times `scale`, the scale of their half.
///     template <class X>
///     static void scaled_pair(X& x, placed_block block, int group, int i, integer_scale scale,
///                             int (&q)[2]);
///     template <class X>
///     static integer_scale integers_of(X& x, placed_block block, int group, int half);
///     template <class X>
///     static group_scales<1, mins> factors_of(X& x, placed_block block);
template <format F>
struct unpack {
    static_assert(F != F,
                  "this weight format cannot be taken apart: add include/catena/kernel/unpack/"
                  "<format>.hpp and include it in kernel/unpack/all.hpp");
};

/// The scales and mins of a group's values.
template <int Scales, bool Mins>
struct group_scales {
    real scale[Scales];
    real min[Scales];
};
template <int Scales>
struct group_scales<Scales, false> {
    real scale[Scales];
};

/// The scales and mins of two groups: factors of their block times what the bytes hold, first both
/// scales, then both mins.
struct pair_scales {
    real d, dmin;
    unsigned bytes;
};

/// `scales` and `mins` of a specialization of `unpack`, as its base.
template <int Scales, bool Mins>
struct with_scales {
    static constexpr int scales = Scales;
    static constexpr bool mins = Mins;
};

/// The scale of 16 values.
struct integer_scale {
    int scale, rest;
};

template <format F>
inline constexpr bool has_integer_scales = requires {
    unpack<F>::integer_scales;
};

template <format F>
inline constexpr int excess_of = [] {
    if constexpr (requires { unpack<F>::excess; })
        return unpack<F>::excess;
    else
        return 0;
}();

template <format F>
inline constexpr bool has_transposed = requires {
    unpack<F>::transposed_excess;
};

template <format F>
inline constexpr bool has_summands = requires {
    unpack<F>::word_of_summands(0, 0);
};

template <format F>
inline constexpr bool has_pairs = requires {
    unpack<F>::place_of_pair(0);
};

template <format F>
inline constexpr bool has_in_place = requires {
    unpack<F>::times_in_place(0);
};

/// Words as `unpack<F>::words` gives them, each byte too large by excess_of<F>.
template <format F, int N, class X>
CATENA_FN void raw_words(X& x, placed_block block, int group, int first, int (&q)[N]) {
    if constexpr (excess_of<F> != 0)
        unpack<F>::raw_words(x, block, group, first, q);
    else
        unpack<F>::words(x, block, group, first, q);
}

/// How eights have the bytes of their two words: what picks them from those in sequence, and back.
struct byte_order {
    unsigned there[2], back[2];
};
inline constexpr byte_order in_turn = {{0x5140u, 0x7362u}, {0x6420u, 0x7531u}};

template <format F>
inline constexpr bool has_eights = requires {
    unpack<F>::word_of_eight(0, 0);
};

template <format F>
inline constexpr bool has_order = requires {
    unpack<F>::order;
};

/// Two words of those bytes of both that First and Second pick.
template <unsigned First, unsigned Second, class T, class X>
CATENA_FN void permute_pair(X& x, T& first, T& second) {
    const auto low = static_cast<unsigned>(first), high = static_cast<unsigned>(second);
    first = static_cast<T>(x.permute(low, high, First));
    second = static_cast<T>(x.permute(low, high, Second));
}

/// Four words by four bytes.
template <class X>
CATENA_FN void transpose(X& x, int& a, int& b, int& c, int& d) {
    permute_pair<0x5140u, 0x7362u>(x, a, b);  // a0 b0 a1 b1, a2 b2 a3 b3
    permute_pair<0x5140u, 0x7362u>(x, c, d);
    permute_pair<0x5410u, 0x7632u>(x, a, c);
    permute_pair<0x5410u, 0x7632u>(x, b, d);
    const int second = c;
    c = b, b = second;
}

/// Two words in sequence into the format's order, and back.
template <format F, class T, class X>
CATENA_FN void to_order(X& x, T& first, T& second) {
    permute_pair<unpack<F>::order.there[0], unpack<F>::order.there[1]>(x, first, second);
}
template <format F, class T, class X>
CATENA_FN void from_order(X& x, T& first, T& second) {
    permute_pair<unpack<F>::order.back[0], unpack<F>::order.back[1]>(x, first, second);
}

/// Words first .. first + N - 1 of a format that has eights, or with the bytes of eights as they
/// are.
template <format F, bool InSequence = true, int N, class X>
CATENA_FN void words_of_eights(X& x, placed_block block, int group, int first, int (&q)[N]) {
    static_assert(N == 1 || N == group_words, "one word of a group, or all");
    CATENA_UNROLL
    for (int i = 0; i < 4; ++i) {
        int eight[2];
        unpack<F>::eight(x, block, group, i, eight);
        if constexpr (has_order<F> && InSequence) from_order<F>(x, eight[0], eight[1]);
        CATENA_UNROLL
        for (int word = 0; word < 2; ++word) {
            const int at = unpack<F>::word_of_eight(i, word);
            if constexpr (N > 1)
                q[at] = eight[word];
            else if (at == first)
                q[0] = eight[word];
        }
    }
}

/// The registry's sizes as constants that a body may use on any executor.
template <format F>
inline constexpr int block_elements = info(F).block_elements;
template <format F>
inline constexpr int block_bytes = info(F).block_bytes;
template <format F>
inline constexpr int block_groups = info(F).block_elements / group_values;

/// A block's alignment in shared memory, wherever its tensor lies: the power of two in its size, 16
/// at most. Where it is 4 or more, the fields of which a format loads words lie at multiples of 4.
/// A float weight is a block of its own; its rows are aligned to 16.
template <format F>
inline constexpr int block_alignment = info(F).block_elements == 1
                                           ? 16
                                           : (info(F).block_bytes | 16) &
                                                 -(info(F).block_bytes | 16);

template <class T, class X>
CATENA_FN T load_as(X& x, const std::byte* p) {
    return x.load(reinterpret_cast<const T*>(p));
}

template <class X>
CATENA_FN real load_half(X& x, const std::byte* p) {
    return from_half(load_as<std::uint16_t>(x, p));
}

/// A base of formats whose groups have one scale and no min: the half at byte `At` of the block,
/// over the factor by which words are too large.
template <int At, int TooLarge = 1>
struct with_half_scale : with_scales<1, false> {
    template <class X>
    CATENA_FN static group_scales<1, false> scales_of(X& x, placed_block block, int) {
        const real d = load_half(x, block + At);
        if constexpr (TooLarge == 1)
            return {{d}};
        else
            return {{d * real{1.0f / TooLarge}}};
    }
};

/// Byte `i` of a word as a number, less a constant: a float of 2^23 and the byte, less 2^23 and
/// that.
template <class X>
CATENA_FN real byte_less(X& x, unsigned word, unsigned i, int less) {
    return from_bits(x.permute(word, 0x4b000000u, 0x7440u | i)) -
           real{static_cast<float>(0x800000 + less)};
}

/// 2n + 1 divided by 2^Halvings, exactly; n: the bits of Mask / 2 from bit `at` on. A float whose
/// last bit has that value, less what it is without n.
template <int Halvings, unsigned Mask = 0x1e>
CATENA_FN real odd_number(unsigned bits, int at) {
    constexpr unsigned base = 0x4b000000u - (Halvings << 23);
    const unsigned twice = at == 0 ? bits << 1 : bits >> (at - 1);
    return from_bits(bitwise<0xea>(twice, Mask, base | 1u)) - from_bits(base);
}

// An accumulator of integers that starts here is, read as a float, 1.5 * 2^23 plus its sum: exact
// while that stays below 2^22, and one subtraction instead of a conversion.
inline constexpr int sum_zero = 0x4b400000;
CATENA_FN real exact_sum(int accumulator) {
    return from_bits(static_cast<std::uint32_t>(accumulator)) - real{12582912.0f};
}
static_assert(32 * 128 * 128 < 1 << 22, "a group's sum is exact");

/// Bytes of a block that lie next to the words which are read, where some do for sure: then the
/// aligned word that holds them may be read, too.
enum class neighbor { none, before, behind };

/// N words of a block, from byte `at` on. With a `shift`, for which no neighbor stands before,
/// every bit moves down by so many places, up if it is negative (the byte before is then read too):
/// right for bits that stay in their byte. Blocks that are not aligned to words are read as aligned
/// words and shifted, so that the shift comes free, or one or two words in their parts; whole
/// chunks are vectors.
template <format F, neighbor Beside = neighbor::none, int N, class X>
CATENA_FN void load_words(X& x, placed_block block, int at, unsigned (&word)[N], int shift = 0) {
    if constexpr (block_alignment<F> >= 4) {
        CATENA_UNROLL
        for (int i = 0; i < N; i += 4) {
            if constexpr (block_alignment<F> == 16 && N % 4 == 0) {
                const word4 v = x.load16(block + at + 4 * i);
                word[i] = v.x, word[i + 1] = v.y, word[i + 2] = v.z, word[i + 3] = v.w;
            } else {
                CATENA_UNROLL
                for (int j = i; j < N && j < i + 4; ++j)
                    word[j] = load_as<unsigned>(x, block + at + 4 * j);
            }
        }
        CATENA_UNROLL
        for (int i = 0; i < N; ++i) word[i] = shift < 0 ? word[i] << -shift : word[i] >> shift;
    } else if constexpr (N <= 2) {
        using part = std::conditional_t<block_alignment<F> == 2, std::uint16_t, std::uint8_t>;
        constexpr int size = sizeof(part);
        CATENA_UNROLL
        for (int i = 0; i < N; ++i) {
            unsigned whole = 0;
            CATENA_UNROLL
            for (int p = 0; p < 4; p += size)
                whole |= unsigned{load_as<part>(x, block + at + 4 * i + p)} << 8 * p;
            word[i] = x.funnel(whole, whole, static_cast<unsigned>(shift));
        }
    } else if constexpr (Beside == neighbor::before) {
        const unsigned missing = (0u - block.past - static_cast<unsigned>(at)) & 3u;
        const std::byte* aligned = block + (at + static_cast<int>(missing));
        unsigned low = load_as<unsigned>(x, aligned - 4);
        CATENA_UNROLL
        for (int i = 0; i < N; ++i) {
            const unsigned high = load_as<unsigned>(x, aligned + 4 * i);
            word[i] = x.funnel_up(low, high, 8 * missing);
            low = high;
        }
    } else {
        const int first = at + (shift >> 3);  // of the bytes that hold the bits
        const unsigned past = (block.past + static_cast<unsigned>(first)) & 3u;
        const std::byte* aligned = block + (first - static_cast<int>(past));
        const int end = Beside == neighbor::none && past == 0 && shift >= 0 ? 4 * N - 4 : 4 * N;
        // Bits that move up from a block's beginning want nothing of the word before it.
        const int begin = at == 0 && shift < 0 && past == 3 ? 4 : 0;
        unsigned low = load_as<unsigned>(x, aligned + begin);
        CATENA_UNROLL
        for (int i = 0; i < N; ++i) {
            const unsigned high = load_as<unsigned>(x, aligned + (i + 1 < N ? 4 * (i + 1) : end));
            word[i] = x.funnel(low, high, 8 * past + static_cast<unsigned>(shift & 7));
            low = high;
        }
    }
}

/// Words first .. first + N - 1 of a group whose 32 nibbles lie in 16 bytes of its block, from byte
/// `at` on, values 0 .. 15 in the low ones and 16 .. 31 in the high ones. A value's nibble is the
/// low half of its byte; the other half is anything.
template <format F, int N, class X>
CATENA_FN void load_nibbles(X& x, placed_block block, int at, int first, unsigned (&nibble)[N]) {
    static_assert(N == 1 || N == group_words, "one word of a group, or all");
    if constexpr (N == 1) {
        load_words<F>(x, block, at + first % 4 * 4, nibble, first / 4 * 4);
    } else {
        unsigned word[4];
        load_words<F, neighbor::before>(x, block, at, word);
        CATENA_UNROLL
        for (int i = 0; i < 4; ++i) nibble[i] = word[i], nibble[4 + i] = word[i] >> 4;
    }
}

}  // namespace CATENA_NAMESPACE::kernel
