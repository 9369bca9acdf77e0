// iq3_xxs and iq3_s: 98 and 110 bytes per 256 values, whose layouts are in format/iq3.hpp. A point
// of the codebook is a word of magnitudes, none of which is 0.
#pragma once

#include "catena/format/iq2.hpp"
#include "catena/kernel/codebook.hpp"
#include "catena/kernel/unpack.hpp"

namespace CATENA_NAMESPACE::kernel {

/// Bytes of 1 to 127, negated where the top bit of `signs` is set. No byte carries.
template <class X>
CATENA_FN int negate_each(X& x, unsigned magnitudes, unsigned signs) {
    const unsigned negative = x.permute(signs, 0, 0xba98u);
    return static_cast<int>((magnitudes ^ negative) + (negative & 0x01010101u));
}

/// negate_each for odd bytes: the negative of one differs in all bits but the lowest.
template <class X>
CATENA_FN int negate_each_odd(X& x, unsigned magnitudes, unsigned signs) {
    const unsigned negative = x.permute(signs, 0, 0xba98u);
    return static_cast<int>(magnitudes ^ (negative & 0xfefefefeu));
}

template <>
struct unpack<format::iq3_xxs> : unpack_eights<format::iq3_xxs>, with_scales<1, false> {
    template <class X>
    CATENA_FN static void eight(X& x, placed_block block, int group, int i, int (&q)[2]) {
        unsigned signs[1];
        load_words<format::iq3_xxs>(x, block, 66 + 4 * group, signs);
        const unsigned seven = signs[0] >> 7 * i & 127u;
        const unsigned at_top[2] = {seven * 0x10204080u,  // copies that do not overlap
                                    seven * 0x01020408u + (ones_in(seven) << 31)};
        CATENA_UNROLL
        for (int j = 0; j < 2; ++j) {
            const std::byte* point = block + 2 + 8 * group + 2 * i + j;
            q[j] = negate_each(x, point_of<format::iq3_xxs>(load_as<std::uint8_t>(x, point)),
                               at_top[j]);
        }
    }

    template <class X>
    CATENA_FN static group_scales<1, false> scales_of(X& x, placed_block block, int group) {
        const unsigned top = load_as<std::uint16_t>(x, block + 68 + 4 * group);
        return {{load_half(x, block) * odd_number<2>(top, 12)}};
    }
};

template <>
struct unpack<format::iq3_s> : unpack_eights<format::iq3_s>, with_scales<1, false> {
    template <class X>
    CATENA_FN static void eight(X& x, placed_block block, int group, int i, int (&q)[2]) {
        const unsigned ninth = load_as<std::uint8_t>(x, block + 66 + group);
        const unsigned eight = load_as<std::uint8_t>(x, block + 74 + 4 * group + i);
        CATENA_UNROLL
        for (int j = 0; j < 2; ++j) {
            const int word = 2 * i + j;
            const unsigned low = load_as<std::uint8_t>(x, block + 2 + 8 * group + word);
            q[j] = negate_each_odd(x, point_of<format::iq3_s>(low | (ninth << (8 - word) & 0x100u)),
                                   spread_nth<2>(eight, j, 7));
        }
    }

    template <class X>
    CATENA_FN static group_scales<1, false> scales_of(X& x, placed_block block, int group) {
        const unsigned pair = load_as<std::uint8_t>(x, block + 106 + group / 2);
        return {{load_half(x, block) * odd_number<0>(pair << (4 - group % 2 * 4), 4)}};
    }
};

}  // namespace CATENA_NAMESPACE::kernel
