// mxfp4 and nvfp4: 17 bytes per 32 values, an e8m0 and nibbles as those of q4_0; 36 bytes per 64
// values, four e4m3 without sign and for each 16 values 8 bytes of nibbles, values 0 .. 7 in the
// low ones. A nibble is an e2m1, whose double is an integer.
#pragma once

#include "catena/format/mxfp4.hpp"
#include "catena/kernel/codebook.hpp"
#include "catena/kernel/unpack.hpp"

namespace CATENA_NAMESPACE::kernel {

inline constexpr table16 e2m1_table = table16_of(doubled_e2m1);
inline constexpr summed_table e2m1_sums = summed(doubled_e2m1);

template <>
struct unpack<format::mxfp4> : with_scales<1, false>,
                               unpack_nibbles<format::mxfp4, e2m1_table, e2m1_sums, 1, 0> {
    template <class X>
    CATENA_FN static group_scales<1, false> scales_of(X& x, placed_block block, int) {
        const unsigned e = load_as<std::uint8_t>(x, block);
        return {{from_bits(e < 2 ? 0x200000u << e : (e - 1) << 23)}};
    }
};

template <>
struct unpack<format::nvfp4> : with_scales<2, false>, unpack_eights<format::nvfp4> {
    CATENA_FN static constexpr int word_of_eight(int i, int word) {
        return i / 2 * 4 + i % 2 + 2 * word;
    }

    static constexpr byte_order order = in_turn;

    template <class X>
    CATENA_FN static void eight(X& x, placed_block block, int group, int i, int (&q)[2]) {
        look_up_eight<e2m1_table>(x, load_as<unsigned>(x, block + 4 + 16 * group + 4 * i), q);
    }

    CATENA_FN static constexpr int word_of_summands(int i, int word) {
        return word_of_eight(i, word);
    }
    template <class X>
    CATENA_FN static void summands(X& x, placed_block block, int group, int (&q)[2][group_words]) {
        CATENA_UNROLL
        for (int i = 0; i < 4; ++i) {
            int first[2], last[2];
            look_up_summands<e2m1_sums>(x, load_as<unsigned>(x, block + 4 + 16 * group + 4 * i),
                                        first, last);
            CATENA_UNROLL
            for (int word = 0; word < 2; ++word) {
                q[0][word_of_eight(i, word)] = first[word];
                q[1][word_of_eight(i, word)] = last[word];
            }
        }
    }

    template <class X>
    CATENA_FN static group_scales<2, false> scales_of(X& x, placed_block block, int group) {
        const unsigned both = load_as<std::uint16_t>(x, block + 2 * group);
        return {{half_of(both & 0xffu), half_of(both >> 8)}};
    }

  private:
    /// Exponent and mantissa at the top of an f32's, times the power of two between their biases; a
    /// subnormal is one there too.
    CATENA_FN static real half_of(unsigned e4m3) {
        const unsigned bits = e4m3 == e4m3_nan ? 0 : (e4m3 & 0x7fu) << 20;
        return from_bits(bits) * real{0x1p119f};
    }
};

}  // namespace CATENA_NAMESPACE::kernel
