// Floats of eight and four bits: the rules of format/minifloat.hpp to the bit, in fewer
// instructions.
#pragma once

#include "catena/exec/real.hpp"
#include "catena/format/minifloat.hpp"

#include <cstdint>

namespace CATENA_NAMESPACE::kernel {

/// The value of an e4m3: a half of the same bits one to the right is its 256th part.
CATENA_FN real from_e4m3(unsigned bits) {
    if ((bits & 0x7fu) == 0x7fu) return from_bits(f32_nan_bits);
    const unsigned half = ((bits & 0x80u) << 8) | ((bits & 0x7fu) << 7);
    return from_half(static_cast<std::uint16_t>(half)) * real{256};
}

/// The e4m3 nearest to a number, or the e2m1: e4m3_from_f32_bits and e2m1_from_f32_bits in one.
CATENA_FN unsigned minifloat_of(real v, bool narrow) {
    const int cut = narrow ? 22 : 20;  // bits of the mantissa that are rounded off
    const unsigned least = (narrow ? 127u : 121u) << 23;  // the smallest normal
    const unsigned largest = bits_of(real{narrow ? e2m1_largest : e4m3_largest});
    const unsigned given = bits_of(v) & 0x7fffffffu;
    const unsigned magnitude = given < largest ? given : largest;
    const unsigned power = magnitude & 0x7f800000u, exponent = power > least ? power : least;
    // Added to a magnitude it rounds that to a multiple of the last place.
    const real unit = from_bits(exponent + (static_cast<unsigned>(cut) << 23));
    const unsigned small =
        bits_of(from_bits(magnitude) + unit) - bits_of(unit) + ((exponent - least) >> cut);
    if (narrow) return small | (bits_of(v) >> 28 & 8u);
    return given >= 0x7f800000u ? e4m3_nan : small | (bits_of(v) >> 24 & 0x80u);
}

}  // namespace CATENA_NAMESPACE::kernel
