// iq2_xxs, iq2_xs and iq2_s: 66, 74 and 82 bytes per 256 values, whose layouts are in
// format/iq2.hpp. A point of the codebook has a nibble for each of eight values, 0 .. 2; a sign put
// on top of it chooses a negative level.
#pragma once

#include "catena/format/iq2.hpp"
#include "catena/kernel/codebook.hpp"
#include "catena/kernel/unpack.hpp"

namespace CATENA_NAMESPACE::kernel {

/// Seven signs become bit 2 of seven nibbles by one product: four copies nine bits apart, none of
/// which reaches the next. For that the values stand in the sequence 2, 6, 1, 5, 0, 4, 7, 3.
struct iq2_eights {
    static constexpr byte_order order = {{0x5162u, 0x3740u}, {0x7024u, 0x6135u}};

    /// `eighth`: its lowest bit is the sign of value 7.
    template <format F, class X>
    CATENA_FN static void signed_point(X& x, unsigned point, unsigned seven, unsigned eighth,
                                       int (&q)[2]) {
        const unsigned magnitudes = point_of<F, 0x37405162u>(point);
        const unsigned nibbles =
            magnitudes | (seven * 0x08040201u & 0x44444444u) | (eighth << 26 & 0x04000000u);
        choose(x, {nibbles, {kept<0x002b1908u>(), 0x00d5e7f8u}}, q);  // 8, 25, 43; below 0
    }
};

/// d / 8, and 2s + 1 for each of two nibbles.
template <class X>
CATENA_FN group_scales<2, false> scales_of_iq2(X& x, placed_block block, unsigned nibbles) {
    const real d = load_half(x, block);
    return {{d * odd_number<3>(nibbles, 0), d * odd_number<3>(nibbles, 4)}};
}

template <>
struct unpack<format::iq2_xxs> : unpack_eights<format::iq2_xxs>, iq2_eights, with_scales<1, false> {
    template <class X>
    CATENA_FN static void eight(X& x, placed_block block, int group, int i, int (&q)[2]) {
        const std::byte* points = block + 2 + 8 * group;
        unsigned signs[1];
        load_words<format::iq2_xxs>(x, points, 4, signs);
        const unsigned seven = signs[0] >> 7 * i & 127u;
        signed_point<format::iq2_xxs>(x, load_as<std::uint8_t>(x, points + i), seven,
                                      ones_in(seven), q);
    }

    template <class X>
    CATENA_FN static group_scales<1, false> scales_of(X& x, placed_block block, int group) {
        const unsigned top = load_as<std::uint16_t>(x, block + 8 + 8 * group);
        return {{load_half(x, block) * odd_number<3>(top, 12)}};
    }
};

template <>
struct unpack<format::iq2_xs> : unpack_eights<format::iq2_xs>, iq2_eights, with_scales<2, false> {
    template <class X>
    CATENA_FN static void eight(X& x, placed_block block, int group, int i, int (&q)[2]) {
        const unsigned both = load_as<std::uint16_t>(x, block + 2 + 8 * group + 2 * i);
        signed_point<format::iq2_xs>(x, both & 511u, both >> 9, ones_in(both >> 9), q);
    }

    template <class X>
    CATENA_FN static group_scales<2, false> scales_of(X& x, placed_block block, int group) {
        return scales_of_iq2(x, block, load_as<std::uint8_t>(x, block + 66 + group));
    }
};

template <>
struct unpack<format::iq2_s> : unpack_eights<format::iq2_s>, iq2_eights, with_scales<2, false> {
    template <class X>
    CATENA_FN static void eight(X& x, placed_block block, int group, int i, int (&q)[2]) {
        const unsigned pairs = load_as<std::uint8_t>(x, block + 66 + group);
        const std::byte* low = block + 2 + 4 * group + i;
        const unsigned point = load_as<std::uint8_t>(x, low) | (pairs << (8 - 2 * i) & 0x300u);
        const unsigned signs = load_as<std::uint8_t>(x, low + 32);
        signed_point<format::iq2_s>(x, point, signs & 127u, signs >> 7, q);
    }

    template <class X>
    CATENA_FN static group_scales<2, false> scales_of(X& x, placed_block block, int group) {
        return scales_of_iq2(x, block, load_as<std::uint8_t>(x, block + 74 + group));
    }
};

}  // namespace CATENA_NAMESPACE::kernel
