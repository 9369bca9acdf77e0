// q5_K: 256 values in 8 parts of 32 with the scales and mins of q4_K and 5-bit levels. The low four
// bits lie as in q4_K; bit p of qh[i] is the fifth of value i of part p.
#pragma once

#include "catena/format/q4_K.hpp"

#include <cstdint>

namespace CATENA_NAMESPACE {

struct block_q5_K {
    std::uint16_t d;     ///< f16
    std::uint16_t dmin;  ///< f16
    std::uint8_t scales[12];
    std::uint8_t qh[32];
    std::uint8_t qs[128];
};
static_assert(sizeof(block_q5_K) == 176, "ggml's layout");

template <>
struct codec<format::q5_K> {
    using block = block_q5_K;

    /// Values must be finite.
    static void encode(const float* in, block* out) {
        const auto best = scale_min_block<8, 32, 63, 31>::nearest(in);
        *out = {best.d, best.dmin, {}, {}, {}};
        pack_scale_min(best.parts, out->scales);
        for (int i = 0; i < 256; ++i) {
            const int part = i / 32, level = best.levels[i];
            auto& low = out->qs[part / 2 * 32 + i % 32];
            low = static_cast<std::uint8_t>(low | (level & 15) << part % 2 * 4);
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
                const int level = (qs[i] >> part % 2 * 4 & 15) | (in->qh[i] >> part & 1) << 4;
                *out++ = scale * static_cast<Real>(level) - min;
            }
        }
    }

    /// d in [2^-15, 2^-14), scales and mins of 32 to 63, and the dmin that centers the levels on
    /// zero.
    static void bound(block* b) {
        b->d = static_cast<std::uint16_t>(0x0200 | (b->d & 0x1ff));
        b->dmin = f16_from_f32(15.5f * f32_from_f16(b->d));
        raise_scale_min(b->scales);
    }
};

}  // namespace CATENA_NAMESPACE
