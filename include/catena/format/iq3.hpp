// iq3_xxs and iq3_s: four values at a time are a point of a codebook, whose levels are magnitudes,
// and four signs. A block has 256 values and an f16 scale d; a 4-bit scale s for each 32 values
// makes it d * (2s + 1) / 4 (xxs) or d * (2s + 1).
#pragma once

#include "catena/format/iq2.hpp"

#include <cstdint>

namespace CATENA_NAMESPACE {

struct block_iq3_xxs {
    std::uint16_t d;         ///< f16
    std::uint8_t qs[64];     ///< a point for each 4 values
    std::uint16_t rest[16];  ///< four times seven signs, s; two halves for each 32 values
};

struct block_iq3_s {
    std::uint16_t d;         ///< f16
    std::uint8_t qs[64];     ///< low bits of the point, for each 4 values
    std::uint8_t qh[8];      ///< ninth bits of eight points, for each 32 values
    std::uint8_t signs[32];  ///< eight signs, for each 8 values
    std::uint8_t scales[4];  ///< s, a nibble for each 32 values
};

namespace detail {

template <class Real>
void decode_iq3(std::uint32_t point, std::uint32_t signs, Real scale, Real* out) {
    for (int i = 0; i < 4; ++i) {
        const Real magnitude = scale * static_cast<Real>(point >> 8 * i & 255u);
        out[i] = (signs >> i & 1u) != 0 ? -magnitude : magnitude;
    }
}

}  // namespace detail

template <>
struct codec<format::iq3_xxs> : codec_with_d<block_iq3_xxs, -13> {
    template <class Real>
    static void decode(const block* in, Real* out) {
        const Real d = f32_from_f16(in->d);
        for (int i = 0; i < 64; ++i) {
            const std::uint16_t* halves = in->rest + i / 8 * 2;
            const std::uint32_t rest = halves[0] | std::uint32_t{halves[1]} << 16;
            const std::uint32_t signs = eight_signs(rest >> i % 8 / 2 * 7 & 127u);
            detail::decode_iq3(codebook_of<format::iq3_xxs>.point[in->qs[i]], signs >> i % 2 * 4,
                               d * static_cast<Real>(2 * (rest >> 28) + 1) / 4, out + 4 * i);
        }
    }
};

template <>
struct codec<format::iq3_s> : codec_with_d<block_iq3_s, -13> {
    template <class Real>
    static void decode(const block* in, Real* out) {
        const Real d = f32_from_f16(in->d);
        for (int i = 0; i < 64; ++i) {
            const int point = in->qs[i] | (in->qh[i / 8] >> i % 8 & 1) << 8;
            const int s = in->scales[i / 16] >> i / 8 % 2 * 4 & 15;
            detail::decode_iq3(codebook_of<format::iq3_s>.point[point],
                               static_cast<std::uint32_t>(in->signs[i / 2] >> i % 2 * 4),
                               d * static_cast<Real>(2 * s + 1), out + 4 * i);
        }
    }
};

}  // namespace CATENA_NAMESPACE
