// q8_0: 32 values as int8 times an f16 scale.
#pragma once

#include "catena/format/format.hpp"
#include "catena/format/half.hpp"
#include "catena/format/rounding.hpp"

#include <cstdint>

namespace CATENA_NAMESPACE {

struct block_q8_0 {
    std::uint16_t d;  ///< f16
    std::int8_t qs[32];
};

template <>
struct codec<format::q8_0> : codec_with_d<block_q8_0, -12> {
    /// Values must be finite. The bytes are those of ggml's reference quantizer.
    static void encode(const float* in, block* out) {
        const float d = f32_from_bits(largest_magnitude({in, 32})) / 127.0f;
        out->d = f16_from_f32(d);
        const float per_d = inverse_or_zero(d);
        for (int i = 0; i < 32; ++i)
            out->qs[i] = static_cast<std::int8_t>(round_half_away(in[i] * per_d));
    }

    template <class Real>
    static void decode(const block* in, Real* out) {
        const Real d = f32_from_f16(in->d);
        for (int i = 0; i < 32; ++i) out[i] = d * static_cast<Real>(in->qs[i]);
    }
};

}  // namespace CATENA_NAMESPACE
