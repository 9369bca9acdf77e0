// iq3_xxs and iq3_s: 98 and 110 bytes per 256 values, whose layouts are in format/iq3.hpp. A point
// of the codebook is a word of magnitudes, none of which is 0.
#pragma once

#include "catena/format/iq2.hpp"
#include "catena/kernel/codebook.hpp"
#include "catena/kernel/unpack.hpp"

namespace catena::kernel {

/// Bytes of 1 to 127, those negated whose bit of the low four of `signs` is set. No byte carries.
template <class X>
CATENA_FN int negate_each(X& x, unsigned magnitudes, unsigned signs) {
    const unsigned negative = x.permute(spread_bits(signs, 7), 0, 0xba98u);
    return static_cast<int>((magnitudes ^ negative) + (negative & 0x01010101u));
}

template <>
struct unpack<format::iq3_xxs> {
    static constexpr int scales = 1;
    static constexpr bool mins = false;

    template <int N, class X>
    CATENA_FN static void words(X& x, const std::byte* block, int group, int first, int (&q)[N]) {
        unsigned signs[1];
        load_words<format::iq3_xxs>(x, block, 66 + 4 * group, signs);
        CATENA_UNROLL
        for (int i = 0; i < N; ++i) {
            const int word = first + i;
            const std::byte* point = block + 2 + 8 * group + word;
            const unsigned eight = eight_signs(signs[0] >> (word / 2 * 7) & 127u);
            q[i] = negate_each(x, point_of<format::iq3_xxs>(load_as<std::uint8_t>(x, point)),
                               eight >> (word % 2 * 4));
        }
    }

    template <class X>
    CATENA_FN static group_scales<1, false> scales_of(X& x, const std::byte* block, int group) {
        const unsigned top = load_as<std::uint16_t>(x, block + 68 + 4 * group);
        const real d = load_half(x, block) * real{1.0f / 4};
        return {{d * from_int(static_cast<int>(top >> 11 | 1u))}};
    }
};

template <>
struct unpack<format::iq3_s> {
    static constexpr int scales = 1;
    static constexpr bool mins = false;

    template <int N, class X>
    CATENA_FN static void words(X& x, const std::byte* block, int group, int first, int (&q)[N]) {
        const unsigned ninth = load_as<std::uint8_t>(x, block + 66 + group);
        CATENA_UNROLL
        for (int i = 0; i < N; ++i) {
            const int word = first + i;
            const unsigned low = load_as<std::uint8_t>(x, block + 2 + 8 * group + word);
            const unsigned eight = load_as<std::uint8_t>(x, block + 74 + 4 * group + word / 2);
            q[i] = negate_each(x, point_of<format::iq3_s>(low | (ninth << (8 - word) & 0x100u)),
                               eight >> (word % 2 * 4));
        }
    }

    template <class X>
    CATENA_FN static group_scales<1, false> scales_of(X& x, const std::byte* block, int group) {
        const unsigned pair = load_as<std::uint8_t>(x, block + 106 + group / 2);
        const unsigned s = pair >> (group % 2 * 4) & 15u;
        return {{load_half(x, block) * from_int(static_cast<int>(2 * s + 1))}};
    }
};

}  // namespace catena::kernel
