// q4_1: 32 values as 4 bits times an f16 scale, plus an f16 minimum. Byte i holds value i below and
// value i + 16 above.
#pragma once

#include "catena/format/format.hpp"
#include "catena/format/half.hpp"
#include "catena/format/rounding.hpp"

#include <algorithm>
#include <cstdint>

namespace CATENA_NAMESPACE {

struct block_q4_1 {
    std::uint16_t d;  ///< f16
    std::uint16_t m;  ///< f16
    std::uint8_t qs[16];
};
static_assert(sizeof(block_q4_1) == 20, "ggml's layout");

template <>
struct codec<format::q4_1> {
    using block = block_q4_1;

    /// Values must be finite. The bytes are those of ggml's reference quantizer.
    static void encode(const float* in, block* out) {
        const auto [lowest, highest] = std::minmax_element(in, in + 32);
        const float d = (*highest - *lowest) / 15.0f;
        out->d = f16_from_f32(d);
        out->m = f16_from_f32(*lowest);
        const float per_d = inverse_or_zero(d);
        const auto level = [&, lowest = *lowest](float x) {
            return std::min(15, static_cast<int>((x - lowest) * per_d + 0.5f));
        };
        for (int i = 0; i < 16; ++i)
            out->qs[i] = static_cast<std::uint8_t>(level(in[i]) | level(in[i + 16]) << 4);
    }

    /// In f32 the product is exact, so that contraction changes nothing.
    template <class Real>
    static void decode(const block* in, Real* out) {
        const Real d = f32_from_f16(in->d), m = f32_from_f16(in->m);
        for (int i = 0; i < 16; ++i) {
            out[i] = d * static_cast<Real>(in->qs[i] & 15) + m;
            out[i + 16] = d * static_cast<Real>(in->qs[i] >> 4) + m;
        }
    }

    /// d in [2^-8, 2^-7), and the m that centers the levels on zero.
    static void bound(block* b) {
        b->d = static_cast<std::uint16_t>(0x1c00 | (b->d & 0x3ff));
        b->m = f16_from_f32(-7.5f * f32_from_f16(b->d));
    }
};

}  // namespace CATENA_NAMESPACE
