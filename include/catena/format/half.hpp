// f16 and bf16 as bits in a uint16_t, and their conversions from and to f32: integer code, so that
// no compiler flag changes a bit, on the host or in a kernel body. Rounding is to nearest, ties to
// even. Narrowing and f16 to f32 turn every NaN into the one that CUDA's cvt instruction gives, so
// that an executor may use that instruction and get the same bits.
#pragma once

#include "catena/config.hpp"

#include <cstdint>
#include <cstring>

namespace CATENA_NAMESPACE {

inline constexpr std::uint16_t f16_nan = 0x7fff;
inline constexpr std::uint16_t bf16_nan = 0x7fff;
inline constexpr std::uint32_t f32_nan_bits = 0x7fffffff;

/// The f16 nearest to the f32 of these bits; 65520 and above become infinity.
CATENA_FN constexpr std::uint16_t f16_from_f32_bits(std::uint32_t bits) {
    const std::uint32_t magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u) return f16_nan;
    std::uint32_t half = 0;
    if (magnitude >= 0x477ff000u) {
        half = 0x7c00;
    } else if (magnitude >= 0x38800000u) {  // a normal f16: rebase the exponent, round off 13 bits
        half = (magnitude - 0x38000000u + 0xfffu + ((magnitude >> 13) & 1u)) >> 13;
    } else if (magnitude > 0x33000000u) {                      // a subnormal f16, in units of 2^-24
        const std::uint32_t shift = 126u - (magnitude >> 23);  // 14 to 24
        const std::uint32_t significand = (magnitude & 0x7fffffu) | 0x800000u;
        const std::uint32_t odd = (significand >> shift) & 1u;
        half = (significand + (1u << (shift - 1)) - 1u + odd) >> shift;
    }
    return static_cast<std::uint16_t>(((bits >> 16) & 0x8000u) | half);
}

/// The f32 bits of an f16: exact.
CATENA_FN constexpr std::uint32_t f32_bits_from_f16(std::uint16_t half) {
    const std::uint32_t sign = (half & 0x8000u) << 16;
    const std::uint32_t magnitude = half & 0x7fffu;
    if (magnitude > 0x7c00u) return f32_nan_bits;
    if (magnitude == 0x7c00u) return sign | 0x7f800000u;
    if (magnitude >= 0x400u) return sign | ((magnitude << 13) + 0x38000000u);
    if (magnitude == 0) return sign;
    std::uint32_t exponent = 113, significand = magnitude;  // normalize a subnormal
    for (; significand < 0x400u; significand <<= 1) --exponent;
    return sign | (exponent << 23) | ((significand & 0x3ffu) << 13);
}

/// The bf16 nearest to the f32 of these bits.
CATENA_FN constexpr std::uint16_t bf16_from_f32_bits(std::uint32_t bits) {
    if ((bits & 0x7fffffffu) > 0x7f800000u) return bf16_nan;
    return static_cast<std::uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

/// The f32 bits of a bf16: exact, a NaN keeps its payload.
CATENA_FN constexpr std::uint32_t f32_bits_from_bf16(std::uint16_t brain) {
    return static_cast<std::uint32_t>(brain) << 16;
}

CATENA_FN std::uint32_t f32_bits(float value) {
    std::uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    return bits;
}

CATENA_FN float f32_from_bits(std::uint32_t bits) {
    float value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}

CATENA_FN std::uint16_t f16_from_f32(float value) { return f16_from_f32_bits(f32_bits(value)); }
CATENA_FN float f32_from_f16(std::uint16_t half) { return f32_from_bits(f32_bits_from_f16(half)); }
CATENA_FN std::uint16_t bf16_from_f32(float value) { return bf16_from_f32_bits(f32_bits(value)); }
CATENA_FN float f32_from_bf16(std::uint16_t brain) {
    return f32_from_bits(f32_bits_from_bf16(brain));
}

/// A base of codecs whose blocks have one f16 scale d. Random blocks have d in [2^Exponent,
/// 2^(Exponent + 1)), or of either sign.
template <class Block, int Exponent, bool Signed = false>
struct codec_with_d {
    using block = Block;

    static void bound(block* b) {
        constexpr int kept = Signed ? 0x83ff : 0x3ff;
        b->d = static_cast<std::uint16_t>((Exponent + 15) << 10 | (b->d & kept));
    }
};

}  // namespace CATENA_NAMESPACE
