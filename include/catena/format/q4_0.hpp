// q4_0: 32 values as 4 bits, minus 8, times an f16 scale. Byte i holds value i below and value i +
// 16 above.
#pragma once

#include "catena/format/format.hpp"
#include "catena/format/half.hpp"
#include "catena/format/rounding.hpp"

#include <cmath>
#include <cstdint>

namespace CATENA_NAMESPACE {

struct block_q4_0 {
    std::uint16_t d;  ///< f16
    std::uint8_t qs[16];
};
static_assert(sizeof(block_q4_0) == 18, "ggml's layout");

template <>
struct codec<format::q4_0> {
    using block = block_q4_0;

    /// Values must be finite. The value of largest magnitude becomes level -8 exactly, whatever its
    /// sign. The bytes are those of ggml's reference quantizer.
    static void encode(const float* in, block* out) {
        float extreme = 0;
        for (int i = 0; i < 32; ++i)
            if (std::fabs(in[i]) > std::fabs(extreme)) extreme = in[i];
        const float d = extreme / -8.0f;
        out->d = f16_from_f32(d);
        const float per_d = inverse_or_zero(d);
        const auto level = [&](float x) {
            const int truncated = static_cast<int>(x * per_d + 8.5f);
            return truncated < 15 ? truncated : 15;
        };
        for (int i = 0; i < 16; ++i)
            out->qs[i] = static_cast<std::uint8_t>(level(in[i]) | level(in[i + 16]) << 4);
    }

    template <class Real>
    static void decode(const block* in, Real* out) {
        const Real d = f32_from_f16(in->d);
        for (int i = 0; i < 16; ++i) {
            out[i] = d * static_cast<Real>((in->qs[i] & 15) - 8);
            out[i + 16] = d * static_cast<Real>((in->qs[i] >> 4) - 8);
        }
    }

    /// d of either sign, its magnitude in [2^-8, 2^-7).
    static void bound(block* b) { b->d = static_cast<std::uint16_t>(0x1c00 | (b->d & 0x83ff)); }
};

}  // namespace CATENA_NAMESPACE
