// q8_1: the activation that integer dot products read. 32 values as int8 times d, and s, the sum of
// these products, as in ggml's reference. ggml-cuda sums the values before they are rounded, which
// doubles the error of a product with weights that have a minimum: what rounding adds to the values
// is then not in the sum that the minimum is multiplied with. quantize_32 states the rule, to the
// bit, that the kernels follow for every activation format.
#pragma once

#include "catena/format/format.hpp"
#include "catena/format/half.hpp"
#include "catena/format/rounding.hpp"

#include <cstdint>
#include <cstring>

namespace catena {

struct block_q8_1 {
    std::uint16_t d;  ///< f16
    std::uint16_t s;  ///< f16
    std::int8_t qs[32];
};
static_assert(sizeof(block_q8_1) == 36, "ggml's layout");

/// 32 values as every activation format rounds them.
struct quantized_32 {
    float d = 0;    ///< max|x| / 127
    float sum = 0;  ///< of the rounded values: d times the sum of q
    std::int8_t q[32] = {};
};

/// q = x / d with the unrounded d, halves away from zero, saturating. Values that hold a NaN or an
/// infinity get NaNs for d and the sum, so that it is not lost in the product.
inline quantized_32 quantize_32(const float* in) {
    quantized_32 out;
    std::uint32_t largest = 0;
    for (int i = 0; i < 32; ++i) {
        const std::uint32_t magnitude = f32_bits(in[i]) & 0x7fffffffu;
        largest = magnitude > largest ? magnitude : largest;
    }
    if (largest >= 0x7f800000u) {
        out.d = out.sum = f32_from_bits(f32_nan_bits);
        return out;
    }
    out.d = f32_from_bits(largest) / 127.0f;
    if (largest == 0) return out;
    int total = 0;
    for (int i = 0; i < 32; ++i) total += out.q[i] = round_to_int8(in[i] / out.d);
    out.sum = static_cast<float>(total) * out.d;
    return out;
}

template <>
struct codec<format::q8_1> {
    using block = block_q8_1;

    static void encode(const float* in, block* out) {
        const quantized_32 z = quantize_32(in);
        *out = {f16_from_f32(z.d), f16_from_f32(z.sum), {}};
        std::memcpy(out->qs, z.q, sizeof z.q);
    }

    template <class Real>
    static void decode(const block* in, Real* out) {
        const Real d = f32_from_f16(in->d);
        for (int i = 0; i < 32; ++i) out[i] = d * static_cast<Real>(in->qs[i]);
    }
};

}  // namespace catena
