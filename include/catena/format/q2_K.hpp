// q2_K: 256 values in 16 parts of 16; value = d * scale * level - dmin * min, with a 4-bit scale
// (below) and min (above) per part and 2-bit levels. In each half of 128 values, value 32a + b (b <
// 32) lies in bits 2a, 2a + 1 of byte b.
#pragma once

#include "catena/format/block_search.hpp"
#include "catena/format/format.hpp"

#include <cstdint>

namespace CATENA_NAMESPACE {

struct block_q2_K {
    std::uint8_t scales[16];
    std::uint8_t qs[64];
    std::uint16_t d;     ///< f16
    std::uint16_t dmin;  ///< f16
};

template <>
struct codec<format::q2_K> {
    using block = block_q2_K;

    /// Values must be finite.
    static void encode(const float* in, block* out) {
        const auto best = scale_min_block<16, 16, 15, 3>::nearest(in);
        *out = {{}, {}, best.d, best.dmin};
        for (int part = 0; part < 16; ++part)
            out->scales[part] =
                static_cast<std::uint8_t>(best.parts[part].scale | best.parts[part].min << 4);
        for (int i = 0; i < 256; ++i) {
            auto& byte = out->qs[i / 128 * 32 + i % 32];
            byte = static_cast<std::uint8_t>(byte | best.levels[i] << i % 128 / 32 * 2);
        }
    }

    /// In f32 every product here is exact, so that contraction of the last line changes nothing.
    template <class Real>
    static void decode(const block* in, Real* out) {
        const Real d = f32_from_f16(in->d), dmin = f32_from_f16(in->dmin);
        for (int i = 0; i < 256; ++i) {
            const int at = in->scales[i / 16];
            const int level = in->qs[i / 128 * 32 + i % 32] >> i % 128 / 32 * 2 & 3;
            out[i] = d * static_cast<Real>(at & 15) * static_cast<Real>(level) -
                     dmin * static_cast<Real>(at >> 4);
        }
    }

    /// d in [2^-10, 2^-9), scales and mins of 8 to 15, and the dmin that centers the levels on
    /// zero.
    static void bound(block* b) {
        b->d = static_cast<std::uint16_t>(0x1400 | (b->d & 0x3ff));
        b->dmin = f16_from_f32(1.5f * f32_from_f16(b->d));
        for (std::uint8_t& scale : b->scales) scale = static_cast<std::uint8_t>(scale | 0x88);
    }
};

}  // namespace CATENA_NAMESPACE
