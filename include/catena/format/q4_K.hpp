// q4_K: 256 values in 8 parts of 32; value = d * scale * level - dmin * min, with a 6-bit scale and
// a 6-bit min per part and 4-bit levels. Bytes 32c .. 32c+31 of qs hold part 2c below and part 2c+1
// above.
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
static_assert(sizeof(block_q4_K) == 144, "ggml's layout");

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

template <>
struct codec<format::q4_K> {
    using block = block_q4_K;

    /// Values must be finite.
    static void encode(const float* in, block* out) {
        const auto best = scale_min_block<8, 32, 63, 15>::nearest(in);
        out->d = best.d;
        out->dmin = best.dmin;
        pack_scale_min(best.parts, out->scales);
        for (int i = 0; i < 128; ++i) {
            const std::uint8_t* low = best.levels + i / 32 * 64 + i % 32;
            out->qs[i] = static_cast<std::uint8_t>(low[0] | low[32] << 4);
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
            for (int i = 0; i < 32; ++i)
                *out++ = scale * static_cast<Real>((qs[i] >> part % 2 * 4) & 15) - min;
        }
    }

    /// d in [2^-14, 2^-13), scales and mins of 32 to 63, and the dmin that centers the levels on
    /// zero.
    static void bound(block* b) {
        b->d = static_cast<std::uint16_t>(0x0400 | (b->d & 0x3ff));
        b->dmin = f16_from_f32(7.5f * f32_from_f16(b->d));
        raise_scale_min(b->scales);
    }
};

}  // namespace CATENA_NAMESPACE
