// iq4_nl and iq4_xs: nibbles that choose one of sixteen levels, as those of q4_0 in each group. 18
// bytes per 32 values: half d, nibbles. 136 bytes per 256 values: half d, the high bit pairs of
// eight scales, the low nibbles of them, 128 bytes of nibbles; a scale is 32 too large.
#pragma once

#include "catena/format/iq4.hpp"
#include "catena/kernel/codebook.hpp"
#include "catena/kernel/unpack.hpp"

namespace CATENA_NAMESPACE::kernel {

inline constexpr table16 iq4_table = table16_of(iq4_levels);
inline constexpr summed_table iq4_sums = summed(iq4_levels);

template <>
struct unpack<format::iq4_nl> : with_half_scale<0>,
                                unpack_nibbles<format::iq4_nl, iq4_table, iq4_sums, 2, 0> {};

template <>
struct unpack<format::iq4_xs> : with_scales<1, false>,
                                unpack_nibbles<format::iq4_xs, iq4_table, iq4_sums, 8, 16> {
    template <class X>
    CATENA_FN static group_scales<1, false> scales_of(X& x, placed_block block, int group) {
        const unsigned head = load_as<unsigned>(x, block);
        const unsigned low = (load_as<unsigned>(x, block + 4) >> (4 * group)) & 15u;
        const unsigned high = (head >> (16 + 2 * group)) & 3u;
        const real d = from_half(static_cast<std::uint16_t>(head & 0xffffu));
        return {{d * from_int(static_cast<int>(low | high << 4) - 32)}};
    }
};

}  // namespace CATENA_NAMESPACE::kernel
