// iq2_xxs, iq2_xs and iq2_s: 66, 74 and 82 bytes per 256 values, whose layouts are in
// format/iq2.hpp. A point of the codebook has a nibble for each of eight values, 0 .. 2; a sign put
// on top of it chooses a negative level.
#pragma once

#include "catena/format/iq2.hpp"
#include "catena/kernel/codebook.hpp"
#include "catena/kernel/unpack.hpp"

namespace catena::kernel {

CATENA_FN constexpr chosen_levels signed_point(unsigned point, unsigned signs) {
    return {with_spread_eight(signs, point), {0x002b1908u, 0x00d5e7f8u}};  // 8, 25, 43 and below 0
}

/// d / 8, and 2s + 1 for each of two nibbles.
template <class X>
CATENA_FN group_scales<2, false> scales_of_iq2(X& x, const std::byte* block, unsigned nibbles) {
    const real d = load_half(x, block) * real{1.0f / 8};
    return {{d * from_int(static_cast<int>((nibbles << 1 & 0x1eu) | 1u)),
             d * from_int(static_cast<int>((nibbles >> 3 & 0x1eu) | 1u))}};
}

template <>
struct unpack<format::iq2_xxs> : unpack_eights<format::iq2_xxs> {
    static constexpr int scales = 1;
    static constexpr bool mins = false;

    template <class X>
    CATENA_FN static void eight(X& x, const std::byte* block, int group, int i, int (&q)[2]) {
        const std::byte* points = block + 2 + 8 * group;
        unsigned signs[1];
        load_words<format::iq2_xxs>(x, points, 4, signs);
        const unsigned point = point_of<format::iq2_xxs>(load_as<std::uint8_t>(x, points + i));
        choose(x, signed_point(point, eighth_sign(signs[0] >> 7 * i)), q);
    }

    template <class X>
    CATENA_FN static group_scales<1, false> scales_of(X& x, const std::byte* block, int group) {
        const unsigned top = load_as<std::uint16_t>(x, block + 8 + 8 * group);
        const real d = load_half(x, block) * real{1.0f / 8};
        return {{d * from_int(static_cast<int>(top >> 11 | 1u))}};
    }
};

template <>
struct unpack<format::iq2_xs> : unpack_eights<format::iq2_xs> {
    static constexpr int scales = 2;
    static constexpr bool mins = false;

    template <class X>
    CATENA_FN static void eight(X& x, const std::byte* block, int group, int i, int (&q)[2]) {
        const unsigned both = load_as<std::uint16_t>(x, block + 2 + 8 * group + 2 * i);
        choose(x, signed_point(point_of<format::iq2_xs>(both & 511u), eighth_sign(both >> 9)), q);
    }

    template <class X>
    CATENA_FN static group_scales<2, false> scales_of(X& x, const std::byte* block, int group) {
        return scales_of_iq2(x, block, load_as<std::uint8_t>(x, block + 66 + group));
    }
};

template <>
struct unpack<format::iq2_s> : unpack_eights<format::iq2_s> {
    static constexpr int scales = 2;
    static constexpr bool mins = false;

    template <class X>
    CATENA_FN static void eight(X& x, const std::byte* block, int group, int i, int (&q)[2]) {
        const unsigned pairs = load_as<std::uint8_t>(x, block + 66 + group);
        const std::byte* low = block + 2 + 4 * group + i;
        const unsigned point = load_as<std::uint8_t>(x, low) | (pairs << (8 - 2 * i) & 0x300u);
        choose(x, signed_point(point_of<format::iq2_s>(point), load_as<std::uint8_t>(x, low + 32)),
               q);
    }

    template <class X>
    CATENA_FN static group_scales<2, false> scales_of(X& x, const std::byte* block, int group) {
        return scales_of_iq2(x, block, load_as<std::uint8_t>(x, block + 74 + group));
    }
};

}  // namespace catena::kernel
