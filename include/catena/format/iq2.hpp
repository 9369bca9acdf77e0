// iq2_xxs, iq2_xs and iq2_s: eight values at a time are a point of a codebook, whose levels are
// magnitudes, and eight signs. A block has 256 values and an f16 scale d; a 4-bit scale s for each
// 32 (xxs) or 16 values makes it d * (2s + 1) / 8.
#pragma once

#include "catena/format/codebook.hpp"
#include "catena/format/format.hpp"
#include "catena/format/half.hpp"

#include <cstdint>

namespace CATENA_NAMESPACE {

struct block_iq2_xxs {
    std::uint16_t d;       ///< f16
    std::uint16_t qs[32];  ///< four points of 8 bits, four signs of 7, s; for each 32 values
};

struct block_iq2_xs {
    std::uint16_t d;       ///< f16
    std::uint16_t qs[32];  ///< a point of 9 bits, signs of 7; for each 8 values
    std::uint8_t scales[8];
};

struct block_iq2_s {
    std::uint16_t d;         ///< f16
    std::uint8_t qs[32];     ///< low bits of the point, for each 8 values
    std::uint8_t signs[32];  ///< eight signs, for each 8 values
    std::uint8_t qh[8];      ///< high bit pairs of four points, for each 32 values
    std::uint8_t scales[8];
};

inline constexpr std::int8_t iq2_levels[3] = {8, 25, 43};

/// Eight signs from seven: of eight, an even number is set.
CATENA_FN constexpr std::uint32_t eight_signs(std::uint32_t seven) {
    return seven | (0x6996u >> ((seven ^ seven >> 4) & 15u) & 1u) << 7;
}

namespace detail {

template <class Real>
void decode_iq2(std::uint32_t point, std::uint32_t signs, Real scale, Real* out) {
    for (int i = 0; i < 8; ++i) {
        const Real magnitude = scale * static_cast<Real>(iq2_levels[point >> 4 * i & 15u]);
        out[i] = (signs >> i & 1u) != 0 ? -magnitude : magnitude;
    }
}

/// Exact, as all products that follow.
template <class Real>
Real iq2_scale(std::uint16_t d, int s) {
    return Real{f32_from_f16(d)} * static_cast<Real>(2 * s + 1) / 8;
}

}  // namespace detail

template <>
struct codec<format::iq2_xxs> : codec_with_d<block_iq2_xxs, -12> {
    template <class Real>
    static void decode(const block* in, Real* out) {
        for (int i = 0; i < 32; ++i) {
            const std::uint16_t* group = in->qs + i / 4 * 4;
            const std::uint32_t rest = group[2] | std::uint32_t{group[3]} << 16;
            const std::uint32_t point = group[i % 4 / 2] >> i % 2 * 8 & 255u;
            detail::decode_iq2(
                codebook_of<format::iq2_xxs>.point[point], eight_signs(rest >> i % 4 * 7 & 127u),
                detail::iq2_scale<Real>(in->d, static_cast<int>(rest >> 28)), out + 8 * i);
        }
    }
};

template <>
struct codec<format::iq2_xs> : codec_with_d<block_iq2_xs, -12> {
    template <class Real>
    static void decode(const block* in, Real* out) {
        for (int i = 0; i < 32; ++i) {
            const int s = in->scales[i / 4] >> i % 4 / 2 * 4 & 15;
            detail::decode_iq2(codebook_of<format::iq2_xs>.point[in->qs[i] & 511u],
                               eight_signs(in->qs[i] >> 9), detail::iq2_scale<Real>(in->d, s),
                               out + 8 * i);
        }
    }
};

template <>
struct codec<format::iq2_s> : codec_with_d<block_iq2_s, -12> {
    template <class Real>
    static void decode(const block* in, Real* out) {
        for (int i = 0; i < 32; ++i) {
            const int s = in->scales[i / 4] >> i % 4 / 2 * 4 & 15;
            const int point = in->qs[i] | (in->qh[i / 4] >> i % 4 * 2 & 3) << 8;
            detail::decode_iq2(codebook_of<format::iq2_s>.point[point], in->signs[i],
                               detail::iq2_scale<Real>(in->d, s), out + 8 * i);
        }
    }
};

}  // namespace CATENA_NAMESPACE
