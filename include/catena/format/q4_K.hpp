// q4_K and q5_K: 256 values in 8 parts of 32; value = d * scale * level - dmin * min, with a 6-bit
// scale and a 6-bit min per part and levels of 4 or 5 bits. Bytes 32c .. 32c+31 of qs hold the low
// four bits of part 2c below and those of part 2c+1 above; bit p of qh[i] is the fifth of value i
// of part p.
#pragma once

#include "catena/format/block_search.hpp"
#include "catena/format/format.hpp"

#include <cstdint>

namespace CATENA_NAMESPACE {

struct block_q4_K {
    std::uint16_t d;     ///< f16
    std::uint16_t dmin;  ///< f16
    std::uint8_t scales[12];
    std::uint8_t qs[128];
};

struct block_q5_K {
    std::uint16_t d;     ///< f16
    std::uint16_t dmin;  ///< f16
    std::uint8_t scales[12];
    std::uint8_t qh[32];
    std::uint8_t qs[128];
};

/// Parts 0 to 3 have their scales in the low six bits of bytes 0 to 3 and their mins in those of
/// bytes 4 to 7. Parts 4 to 7 have their low four bits in bytes 8 to 11 (scale below, min above)
/// and their high two bits on top of bytes 0 to 3 (scale) and 4 to 7 (min).
CATENA_FN constexpr scale_min unpack_scale_min(const std::uint8_t* scales, int part) {
    if (part < 4) return {scales[part] & 63, scales[part + 4] & 63};
    return {(scales[part + 4] & 15) | (scales[part - 4] >> 6) << 4,
            (scales[part + 4] >> 4) | (scales[part] >> 6) << 4};
}

/// All eight parts at once; scale and min are 0 to 63.
inline void pack_scale_min(const scale_min* parts, std::uint8_t* scales) {
    for (int i = 0; i < 4; ++i) {
        const scale_min low = parts[i], high = parts[i + 4];
        scales[i] = static_cast<std::uint8_t>(low.scale | (high.scale >> 4) << 6);
        scales[i + 4] = static_cast<std::uint8_t>(low.min | (high.min >> 4) << 6);
        scales[i + 8] = static_cast<std::uint8_t>((high.scale & 15) | (high.min & 15) << 4);
    }
}

/// Makes all eight scales and mins 32 at least.
inline void raise_scale_min(std::uint8_t* scales) {
    scale_min parts[8];
    for (int part = 0; part < 8; ++part) {
        const scale_min noise = unpack_scale_min(scales, part);
        parts[part] = {noise.scale | 32, noise.min | 32};
    }
    pack_scale_min(parts, scales);
}

namespace detail {

template <class Block, int Bits>
struct scale_min_codec {
    using block = Block;
    static constexpr int highest = (1 << Bits) - 1;

    /// Values must be finite.
    static void encode(const float* in, block* out) {
        const auto best = scale_min_block<8, 32, 63, highest>::nearest(in);
        *out = {};
        out->d = best.d;
        out->dmin = best.dmin;
        pack_scale_min(best.parts, out->scales);
        for (int i = 0; i < 256; ++i) {
            const int part = i / 32, level = best.levels[i];
            auto& low = out->qs[part / 2 * 32 + i % 32];
            low = static_cast<std::uint8_t>(low | (level & 15) << part % 2 * 4);
            if constexpr (Bits == 5)
                out->qh[i % 32] = static_cast<std::uint8_t>(out->qh[i % 32] | level >> 4 << part);
        }
    }

    /// In f32 every product here is exact, so that contraction of the last line changes nothing.
    template <class Real>
    static void decode(const block* in, Real* out) {
        const Real d = f32_from_f16(in->d), dmin = f32_from_f16(in->dmin);
        for (int part = 0; part < 8; ++part) {
            const scale_min at = unpack_scale_min(in->scales, part);
            const Real scale = d * static_cast<Real>(at.scale),
                       min = dmin * static_cast<Real>(at.min);
            const std::uint8_t* qs = in->qs + part / 2 * 32;
            for (int i = 0; i < 32; ++i) {
                int level = qs[i] >> part % 2 * 4 & 15;
                if constexpr (Bits == 5) level |= (in->qh[i] >> part & 1) << 4;
                *out++ = scale * static_cast<Real>(level) - min;
            }
        }
    }

    /// d in [2^-14, 2^-13), of 5 bits in [2^-15, 2^-14); scales and mins of 32 to 63, and the dmin
    /// that centers the levels on zero.
    static void bound(block* b) {
        const int lowest = Bits == 4 ? 0x0400 : 0x0200;  // the second is subnormal
        b->d = static_cast<std::uint16_t>(lowest | (b->d & (lowest - 1)));
        b->dmin = f16_from_f32(highest / 2.0f * f32_from_f16(b->d));
        raise_scale_min(b->scales);
    }
};

}  // namespace detail

template <>
struct codec<format::q4_K> : detail::scale_min_codec<block_q4_K, 4> {};
template <>
struct codec<format::q5_K> : detail::scale_min_codec<block_q5_K, 5> {};

}  // namespace CATENA_NAMESPACE
