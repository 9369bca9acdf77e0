// e4m3, e2m1 and e8m0 as bits, and their conversions from and to f32 (OCP 8-bit Floating Point and
// Microscaling Formats specifications): integer code, so that host and kernels make the same bits
// on every machine. Rounding is to nearest, ties to even, and saturates.
#pragma once

#include "catena/format/half.hpp"

#include <cstdint>

namespace CATENA_NAMESPACE {

/// A float of a few bits, without infinities: sign, exponent, `Mantissa` bits. `Largest`: the bits
/// of the largest magnitude.
template <int Mantissa, int Bias, std::uint32_t Largest>
struct minifloat {
    /// The bits of the nearest magnitude to the finite f32 magnitude of these bits.
    CATENA_FN static constexpr std::uint32_t from_f32_magnitude(std::uint32_t magnitude) {
        const auto exponent = static_cast<int>(magnitude >> 23);
        const int lowest = 128 - Bias;  // f32 exponent of the smallest normal
        int cut = 23 - Mantissa;
        std::uint32_t rest = 0;
        if (exponent >= lowest) {  // rebase the exponent, round off the rest of the mantissa
            rest = magnitude - (static_cast<std::uint32_t>(lowest - 1) << 23);
        } else if (exponent > lowest - Mantissa - 3) {  // a multiple of the smallest subnormal
            cut += lowest - exponent;
            rest = (magnitude & 0x7fffffu) | 0x800000u;
        }
        const std::uint32_t bits = (rest + (1u << (cut - 1)) - 1u + ((rest >> cut) & 1u)) >> cut;
        return bits < Largest ? bits : Largest;
    }

    /// The f32 bits of a magnitude: exact.
    CATENA_FN static constexpr std::uint32_t f32_magnitude(std::uint32_t bits) {
        if (bits >> Mantissa != 0)
            return (bits << (23 - Mantissa)) + (static_cast<std::uint32_t>(127 - Bias) << 23);
        if (bits == 0) return 0;
        auto exponent = static_cast<std::uint32_t>(128 - Bias);  // normalize a subnormal
        for (; (bits >> Mantissa) == 0; bits <<= 1) --exponent;
        return (exponent << 23) | ((bits << (23 - Mantissa)) & 0x7fffffu);
    }
};

using e4m3 = minifloat<3, 7, 0x7e>;  ///< largest value 448; 0x7f is NaN
using e2m1 = minifloat<1, 1, 0x7>;   ///< 0, 0.5, 1, 1.5, 2, 3, 4, 6
inline constexpr float e4m3_largest = 448, e2m1_largest = 6;
inline constexpr std::uint8_t e4m3_nan = 0x7f, e8m0_nan = 0xff;

/// The e4m3 nearest to the f32 of these bits, saturating at 448. A NaN or an infinity gives NaN.
CATENA_FN constexpr std::uint8_t e4m3_from_f32_bits(std::uint32_t bits) {
    const std::uint32_t magnitude = bits & 0x7fffffffu;
    if (magnitude >= 0x7f800000u) return e4m3_nan;
    return static_cast<std::uint8_t>(((bits >> 24) & 0x80u) | e4m3::from_f32_magnitude(magnitude));
}

CATENA_FN constexpr std::uint32_t f32_bits_from_e4m3(std::uint8_t bits) {
    if ((bits & 0x7fu) == e4m3_nan) return f32_nan_bits;
    return (std::uint32_t{bits} & 0x80u) << 24 | e4m3::f32_magnitude(bits & 0x7fu);
}

/// The e2m1 nearest to the finite f32 of these bits, in the low four bits, saturating at 6.
CATENA_FN constexpr std::uint8_t e2m1_from_f32_bits(std::uint32_t bits) {
    return static_cast<std::uint8_t>(((bits >> 28) & 0x8u) |
                                     e2m1::from_f32_magnitude(bits & 0x7fffffffu));
}

CATENA_FN constexpr std::uint32_t f32_bits_from_e2m1(std::uint8_t bits) {
    return (std::uint32_t{bits} & 0x8u) << 28 | e2m1::f32_magnitude(bits & 0x7u);
}

/// The e8m0 of a block by the rule of the Microscaling specification: the power of two of its
/// largest magnitude, given as f32 bits, less that of the element's largest (8 of e4m3, 2 of e2m1).
CATENA_FN constexpr std::uint8_t e8m0_of_block(std::uint32_t largest, int element_power) {
    const int code = static_cast<int>(largest >> 23) - element_power;
    return static_cast<std::uint8_t>(largest >= 0x7f800000u ? e8m0_nan : code < 0 ? 0 : code);
}

/// The f32 bits of 2^(code - 127); code 0 is subnormal as an f32.
CATENA_FN constexpr std::uint32_t f32_bits_from_e8m0(std::uint8_t code) {
    if (code == e8m0_nan) return f32_nan_bits;
    return code == 0 ? 0x400000u : std::uint32_t{code} << 23;
}

}  // namespace CATENA_NAMESPACE
