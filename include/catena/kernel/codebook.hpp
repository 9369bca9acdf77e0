// Tables that weights are looked up in. Sixteen levels fit in four registers, and byte permutes
// choose among them. The points of the iq codebooks lie in memory: on a GPU in the global memory of
// the module, which the L1 caches.
#pragma once

#include "catena/format/codebook.hpp"
#include "catena/kernel/bits.hpp"
#include "catena/kernel/unpack.hpp"

#include <cstdint>

namespace CATENA_NAMESPACE::kernel {

/// Sixteen int8, four in a word.
struct table16 {
    unsigned word[4];
};

constexpr table16 table16_of(const std::int8_t (&levels)[16]) {
    table16 t{};
    for (int i = 0; i < 16; ++i)
        t.word[i / 4] |= static_cast<unsigned>(static_cast<std::uint8_t>(levels[i])) << i % 4 * 8;
    return t;
}

/// The levels of a word's nibbles, in their sequence. A permute chooses among eight bytes; nibbles
/// 0 .. 7 and 8 .. 15 are looked up apart, and a third permute keeps what their top bits say.
template <table16 Table, class X>
CATENA_FN void look_up_eight(X& x, unsigned nibbles, int (&level)[2]) {
    const unsigned index = nibbles & 0x77777777u;
    const unsigned side = ((nibbles & 0x88888888u) >> 1) | 0x32103210u;
    CATENA_UNROLL
    for (int i = 0; i < 2; ++i)
        level[i] = static_cast<int>(x.permute(
            x.permute(kept<Table.word[0]>(), Table.word[1], index >> 16 * i),
            x.permute(kept<Table.word[2]>(), Table.word[3], index >> 16 * i), side >> 16 * i));
}

/// Four levels each, of the low nibbles of a word's bytes and of the high ones.
struct looked_up {
    unsigned low, high;
};

template <table16 Table, class X>
CATENA_FN looked_up look_up(X& x, unsigned nibbles) {
    int level[2];
    look_up_eight<Table>(x, nibbles, level);
    permute_pair<in_turn.back[0], in_turn.back[1]>(x, level[0], level[1]);
    return {static_cast<unsigned>(level[0]), static_cast<unsigned>(level[1])};
}

/// Sixteen int8 as sums of two. A permute copies one of eight bytes, or that byte's sign where the
/// top bit of the nibble that chooses it is set. So level n of the first eight is byte n of `first`
/// plus the sign of byte n of `last`, and level 8 + n the sign of `first` plus the byte of `last`.
struct summed_table {
    unsigned first[2], last[2];
};

constexpr summed_table summed(const std::int8_t (&levels)[16]) {
    summed_table t{};
    for (int n = 0; n < 8; ++n) {
        bool found = false;
        for (int signs = 0; signs < 4; ++signs) {
            const int first = levels[n] + signs / 2, last = levels[8 + n] + signs % 2;
            if (found || first > 127 || last > 127) continue;
            if ((first < 0) != (signs % 2 == 1) || (last < 0) != (signs / 2 == 1)) continue;
            t.first[n / 4] |= static_cast<unsigned>(first & 0xff) << n % 4 * 8;
            t.last[n / 4] |= static_cast<unsigned>(last & 0xff) << n % 4 * 8;
            found = true;
        }
        if (!found) throw "these levels are no sums of a byte and a sign";
    }
    return t;
}

/// The levels of a word's nibbles as two summands, in their sequence.
template <summed_table Table, class X>
CATENA_FN void look_up_summands(X& x, unsigned nibbles, int (&first)[2], int (&last)[2]) {
    const unsigned other = nibbles ^ 0x88888888u;
    CATENA_UNROLL
    for (int i = 0; i < 2; ++i) {
        first[i] =
            static_cast<int>(x.permute(kept<Table.first[0]>(), Table.first[1], nibbles >> 16 * i));
        last[i] =
            static_cast<int>(x.permute(kept<Table.last[0]>(), Table.last[1], other >> 16 * i));
    }
}

/// The summands of a group whose 32 nibbles lie in 16 bytes of its block, from byte `at` on: a word
/// has those of words i and 4 + i in turn.
template <format F, summed_table Table, class X>
CATENA_FN void look_up_group_summands(X& x, placed_block block, int at, int (&q)[2][group_words]) {
    unsigned word[4];
    load_words<F, neighbor::before>(x, block, at, word);
    CATENA_UNROLL
    for (int i = 0; i < 4; ++i) {
        int first[2], last[2];
        look_up_summands<Table>(x, word[i], first, last);
        q[0][i] = first[0], q[0][4 + i] = first[1];
        q[1][i] = last[0], q[1][4 + i] = last[1];
    }
}

/// Words first .. first + N - 1 of a group whose 32 nibbles lie in 16 bytes of its block, from byte
/// `at` on, values 0 .. 15 in the low ones and 16 .. 31 in the high ones.
template <format F, table16 Table, int N, class X>
CATENA_FN void look_up_group(X& x, placed_block block, int at, int first, int (&q)[N]) {
    static_assert(N == 1 || N == group_words, "one word of a group, or all");
    if constexpr (N == 1) {
        unsigned word[1];
        load_words<F>(x, block, at + first % 4 * 4, word);
        const looked_up both = look_up<Table>(x, word[0]);
        q[0] = static_cast<int>(first < 4 ? both.low : both.high);
    } else {
        unsigned word[4];
        load_words<F, neighbor::before>(x, block, at, word);
        CATENA_UNROLL
        for (int i = 0; i < 4; ++i) {
            const looked_up both = look_up<Table>(x, word[i]);
            q[i] = static_cast<int>(both.low);
            q[4 + i] = static_cast<int>(both.high);
        }
    }
}

/// The nibbles of a point from the value that Place says on; Place has a nibble for each.
template <int Points>
constexpr codebook<Points> with_places(codebook<Points> book, std::uint32_t place) {
    for (std::uint32_t& point : book.point) {
        std::uint32_t to = 0;
        for (int i = 0; i < 32; i += 4) to |= (point >> 4 * (place >> i & 15u) & 15u) << i;
        point = to;
    }
    return book;
}

template <format F, std::uint32_t Place>
inline constexpr auto placed_codebook = with_places(codebook_of<F>, Place);

/// A point of a format's codebook. A module holds the codebooks that its kernels ask for.
template <format F, std::uint32_t Place = 0x76543210u>
CATENA_FN unsigned point_of(unsigned i) {
#if defined(__CUDA_ARCH__)
    static __device__ constexpr auto book = placed_codebook<F, Place>;
    return book.point[i];
#else
    return placed_codebook<F, Place>.point[i];
#endif
}

/// Eight values: a nibble each chooses among the eight bytes of `levels`.
struct chosen_levels {
    unsigned nibbles, levels[2];
};

template <class X>
CATENA_FN void choose(X& x, const chosen_levels& c, int (&q)[2]) {
    q[0] = static_cast<int>(x.permute(c.levels[0], c.levels[1], c.nibbles));
    q[1] = static_cast<int>(x.permute(c.levels[0], c.levels[1], c.nibbles >> 16));
}

/// Formats whose nibbles choose levels: those of a group lie `Bytes` behind those of the group
/// before, and those of group 0 at byte `At` of the block.
template <format F, table16 Table, summed_table Sums, int At, int Bytes>
struct unpack_nibbles {
    template <int N, class X>
    CATENA_FN static void words(X& x, placed_block block, int group, int first, int (&q)[N]) {
        look_up_group<F, Table>(x, block, At + Bytes * group, first, q);
    }

    CATENA_FN static constexpr int word_of_summands(int i, int word) { return i + 4 * word; }
    template <class X>
    CATENA_FN static void summands(X& x, placed_block block, int group, int (&q)[2][group_words]) {
        look_up_group_summands<F, Sums>(x, block, At + Bytes * group, q);
    }
};

/// The eights of a codebook, and words made of them.
template <format F>
struct unpack_eights {
    CATENA_FN static constexpr int word_of_eight(int i, int word) { return 2 * i + word; }

    template <int N, class X>
    CATENA_FN static void words(X& x, placed_block block, int group, int first, int (&q)[N]) {
        words_of_eights<F>(x, block, group, first, q);
    }
};

}  // namespace CATENA_NAMESPACE::kernel
