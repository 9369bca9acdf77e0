// iq1_s and iq1_m: eight values at a time are a point of a codebook of -1, 0 and 1, all moved up or
// down by 1/8. A block has 256 values and an f16 scale d; a 3-bit scale s for each 32 (iq1_s) or 16
// values makes it d * (2s + 1).
#pragma once

#include "catena/format/codebook.hpp"
#include "catena/format/format.hpp"
#include "catena/format/half.hpp"

#include <cstdint>

namespace CATENA_NAMESPACE {

struct block_iq1_s {
    std::uint16_t d;      ///< f16
    std::uint8_t qs[32];  ///< low bits of the point, for each 8 values
    std::uint16_t qh[8];  ///< high three bits of four points, s, 1 for down; for each 32 values
};

struct block_iq1_m {
    std::uint8_t qs[32];      ///< low bits of the point, for each 8 values
    std::uint8_t qh[16];      ///< a nibble for each 8 values: high three bits, 1 for down
    std::uint16_t scales[4];  ///< four times s, then a nibble of d; for each 64 values
};

namespace detail {

/// `eighth` is that of the scale; then every product is one of integers.
template <class Real>
void decode_iq1(std::uint32_t point, bool down, Real eighth, Real* out) {
    for (int i = 0; i < 8; ++i) {
        const int level = static_cast<int>(point >> 4 * i & 15u) - 1;
        out[i] = eighth * static_cast<Real>(8 * level + (down ? -1 : 1));
    }
}

}  // namespace detail

template <>
struct codec<format::iq1_s> : codec_with_d<block_iq1_s, -9> {
    template <class Real>
    static void decode(const block* in, Real* out) {
        const Real d = f32_from_f16(in->d);
        for (int i = 0; i < 32; ++i) {
            const int high = in->qh[i / 4], s = high >> 12 & 7;
            detail::decode_iq1(
                codebook_of<format::iq1_s>.point[in->qs[i] | (high >> i % 4 * 3 & 7) << 8],
                high >> 15 != 0, d * static_cast<Real>(2 * s + 1) / 8, out + 8 * i);
        }
    }
};

template <>
struct codec<format::iq1_m> {
    using block = block_iq1_m;

    template <class Real>
    static void decode(const block* in, Real* out) {
        std::uint16_t half = 0;
        for (int i = 0; i < 4; ++i)
            half = static_cast<std::uint16_t>(half | in->scales[i] >> 12 << 4 * i);
        const Real d = f32_from_f16(half);
        for (int i = 0; i < 32; ++i) {
            const int high = in->qh[i / 2] >> i % 2 * 4, s = in->scales[i / 8] >> i / 2 % 4 * 3 & 7;
            detail::decode_iq1(codebook_of<format::iq1_s>.point[in->qs[i] | (high & 7) << 8],
                               (high & 8) != 0, d * static_cast<Real>(2 * s + 1) / 8, out + 8 * i);
        }
    }

    /// d in [2^-8, 2^-7): of its nibbles the last is 1 and the third 12 and up. s from 0 to 3.
    static void bound(block* b) {
        for (std::uint16_t& four : b->scales) four = static_cast<std::uint16_t>(four & ~0x0924);
        b->scales[3] = static_cast<std::uint16_t>(0x1000 | (b->scales[3] & 0x0fff));
        b->scales[2] = static_cast<std::uint16_t>(0xc000 | b->scales[2]);
    }
};

}  // namespace CATENA_NAMESPACE
