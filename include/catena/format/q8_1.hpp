// q8_1: the activation that integer dot products read. 32 values as int8 times d, and s, the sum of
// the values before they were rounded. The codec states the rule, to the bit, that the kernels
// follow.
#pragma once

#include "catena/format/format.hpp"
#include "catena/format/half.hpp"
#include "catena/format/rounding.hpp"

#include <cstdint>

namespace catena {

struct block_q8_1 {
    std::uint16_t d;  ///< f16
    std::uint16_t s;  ///< f16
    std::int8_t qs[32];
};
static_assert(sizeof(block_q8_1) == 36, "ggml's layout");

template <>
struct codec<format::q8_1> {
    using block = block_q8_1;

    /// d = max|x| / 127 and qs = x / d with the unrounded d, halves away from zero, saturating. A
    /// block that holds a NaN or an infinity gets d = s = NaN, so that it is not lost in the
    /// product.
    static void encode(const float* in, block* out) {
        std::uint32_t largest = 0;
        for (int i = 0; i < 32; ++i) {
            const std::uint32_t magnitude = f32_bits(in[i]) & 0x7fffffffu;
            largest = magnitude > largest ? magnitude : largest;
        }
        if (largest >= 0x7f800000u) {
            *out = {f16_nan, f16_nan, {}};
            return;
        }
        const float d = f32_from_bits(largest) / 127.0f;
        *out = {f16_from_f32(d), f16_from_f32(sum(in)), {}};
        if (largest == 0) return;
        for (int i = 0; i < 32; ++i) out->qs[i] = round_to_int8(in[i] / d);
    }

    template <class Real>
    static void decode(const block* in, Real* out) {
        const Real d = f32_from_f16(in->d);
        for (int i = 0; i < 32; ++i) out[i] = d * static_cast<Real>(in->qs[i]);
    }

    /// In the order of eight neighbouring threads that own four values each: every thread its four
    /// in sequence, then pairs at distance 1, 2, 4.
    static float sum(const float* in) {
        float part[8];
        for (int t = 0; t < 8; ++t)
            part[t] = in[4 * t] + in[4 * t + 1] + in[4 * t + 2] + in[4 * t + 3];
        return ((part[0] + part[1]) + (part[2] + part[3])) +
               ((part[4] + part[5]) + (part[6] + part[7]));
    }
};

}  // namespace catena
