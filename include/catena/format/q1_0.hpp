// q1_0 and q2_0: one and two bits a value times an f16 scale. Value i lies in bit i, of a value -1
// or 1, or in bits 2i and 2i + 1, of a value -1 to 2.
#pragma once

#include "catena/format/format.hpp"
#include "catena/format/half.hpp"
#include "catena/format/rounding.hpp"
#include "catena/format/scale_search.hpp"

#include <cmath>
#include <cstdint>

namespace CATENA_NAMESPACE {

struct block_q1_0 {
    std::uint16_t d;  ///< f16
    std::uint8_t qs[16];
};

struct block_q2_0 {
    std::uint16_t d;  ///< f16
    std::uint8_t qs[16];
};

template <>
struct codec<format::q1_0> : codec_with_d<block_q1_0, -6> {
    /// Values must be finite. The bytes are those of ggml's reference quantizer, and the best there
    /// are: the mean magnitude is the scale of least error for signs.
    static void encode(const float* in, block* out) {
        float sum = 0;
        for (int i = 0; i < 128; ++i) sum += std::fabs(in[i]);
        *out = {f16_from_f32(sum / 128), {}};
        for (int i = 0; i < 128; ++i)
            if (in[i] >= 0) out->qs[i / 8] = static_cast<std::uint8_t>(out->qs[i / 8] | 1 << i % 8);
    }

    template <class Real>
    static void decode(const block* in, Real* out) {
        const Real d = f32_from_f16(in->d);
        for (int i = 0; i < 128; ++i) out[i] = (in->qs[i / 8] >> i % 8 & 1) != 0 ? d : -d;
    }
};

template <>
struct codec<format::q2_0> {
    using block = block_q2_0;

    /// Values must be finite. d has the sign that gives the value of largest magnitude the side
    /// with two levels.
    static void encode(const float* in, block* out) {
        *out = {f16_from_f32(-fit_scale<64>(in, 2).scale), {}};
        const float per_d = inverse_or_zero(f32_from_f16(out->d));
        for (int i = 0; i < 64; ++i)
            out->qs[i / 4] = static_cast<std::uint8_t>(
                out->qs[i / 4] | (nearest_level(in[i] * per_d, -1, 2) + 1) << i % 4 * 2);
    }

    template <class Real>
    static void decode(const block* in, Real* out) {
        const Real d = f32_from_f16(in->d);
        for (int i = 0; i < 64; ++i)
            out[i] = d * static_cast<Real>((in->qs[i / 4] >> i % 4 * 2 & 3) - 1);
    }

    /// d of either sign, its magnitude in [1.5 * 2^-7, 2^-6).
    static void bound(block* b) { b->d = static_cast<std::uint16_t>(0x2200 | (b->d & 0x81ff)); }
};

}  // namespace CATENA_NAMESPACE
