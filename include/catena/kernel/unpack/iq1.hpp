// iq1_s and iq1_m: 50 and 56 bytes per 256 values, whose layouts are in format/iq1.hpp. Eight times
// a value is an integer: 8 * (-1, 0, 1) + 1, or - 1 where it is moved down. A point of the codebook
// has a nibble for each of eight values, which chooses among three.
#pragma once

#include "catena/kernel/codebook.hpp"
#include "catena/kernel/unpack.hpp"

namespace CATENA_NAMESPACE::kernel {

CATENA_FN chosen_levels moved_point(unsigned point, bool down) {
    const unsigned lower = kept<0x0007fff7u>();
    return {point, {down ? lower : 0x000901f9u, 0}};  // -9, -1, 7 or -7, 1, 9
}

template <>
struct unpack<format::iq1_s> : unpack_eights<format::iq1_s>, with_scales<1, false> {
    template <class X>
    CATENA_FN static void eight(X& x, placed_block block, int group, int i, int (&q)[2]) {
        const unsigned high = load_as<std::uint16_t>(x, block + 34 + 2 * group);
        const unsigned low = load_as<std::uint8_t>(x, block + 2 + 4 * group + i);
        const unsigned point = low | (high << 8 >> 3 * i & 0x700u);
        choose(x, moved_point(point_of<format::iq1_s>(point), (high & 0x8000u) != 0), q);
    }

    template <class X>
    CATENA_FN static group_scales<1, false> scales_of(X& x, placed_block block, int group) {
        const unsigned high = load_as<std::uint16_t>(x, block + 34 + 2 * group);
        return {{load_half(x, block) * odd_number<3, 14>(high, 12)}};
    }
};

template <>
struct unpack<format::iq1_m> : unpack_eights<format::iq1_m>, with_scales<2, false> {
    template <class X>
    CATENA_FN static void eight(X& x, placed_block block, int group, int i, int (&q)[2]) {
        const unsigned high = load_as<std::uint16_t>(x, block + 32 + 2 * group);
        const unsigned low = load_as<std::uint8_t>(x, block + 4 * group + i);
        const unsigned point = low | (high << 8 >> 4 * i & 0x700u);
        choose(x, moved_point(point_of<format::iq1_s>(point), (high >> 4 * i & 8u) != 0), q);
    }

    /// d lies in the top nibbles of the four words of scales.
    template <class X>
    CATENA_FN static group_scales<2, false> scales_of(X& x, placed_block block, int group) {
        unsigned word[2];
        load_words<format::iq1_m>(x, block, 48, word);
        const unsigned low = (word[0] >> 12 & 0xfu) | (word[0] >> 24 & 0xf0u);
        const unsigned high = (word[1] >> 4 & 0xf00u) | (word[1] >> 16 & 0xf000u);
        const real d = from_half(static_cast<std::uint16_t>(low | high));
        const unsigned both =
            (group < 4 ? word[0] : word[1]) >> (group / 2 % 2 * 16 + group % 2 * 6);
        return {{d * odd_number<3, 14>(both, 0), d * odd_number<3, 14>(both, 3)}};
    }
};

}  // namespace CATENA_NAMESPACE::kernel
