// q8_1: the activation that integer dot products read. 32 values as int8 times d, as ggml's q8_1
// has them; but d is an f32, where ggml keeps d and a sum as f16: an f16 overflows if a value is
// beyond 8.3e6, and loses bits of d below 7.8e-3. Matvecs add the int8 where they need the sum.
// quantize_32 states the rule, to the bit, that the kernels follow for every format of int8.
#pragma once

#include "catena/format/format.hpp"
#include "catena/format/half.hpp"
#include "catena/format/rounding.hpp"

#include <cstdint>
#include <cstring>

namespace CATENA_NAMESPACE {

struct block_q8_1 {
    float d;
    std::int8_t qs[32];
};

/// 32 values as every activation of int8 rounds them.
struct quantized_32 {
    float d = 0;  ///< max|x| / 127
    std::int8_t q[32] = {};
};

/// q = x / d, halves away from zero, saturating. Values that hold a NaN or an infinity get a NaN
/// for d, so that it is not lost in the product.
inline quantized_32 quantize_32(const float* in) {
    quantized_32 out;
    const std::uint32_t largest = largest_magnitude({in, 32});
    if (largest >= 0x7f800000u) {
        out.d = f32_from_bits(f32_nan_bits);
        return out;
    }
    out.d = f32_from_bits(largest) / 127.0f;
    if (largest == 0) return out;
    for (int i = 0; i < 32; ++i) out.q[i] = round_to_int8(in[i] / out.d);
    return out;
}

template <>
struct codec<format::q8_1> {
    using block = block_q8_1;

    static void encode(const float* in, block* out) {
        const quantized_32 z = quantize_32(in);
        out->d = z.d;
        std::memcpy(out->qs, z.q, sizeof z.q);
    }

    template <class Real>
    static void decode(const block* in, Real* out) {
        for (int i = 0; i < 32; ++i)
            out[i] = static_cast<Real>(in->d) * static_cast<Real>(in->qs[i]);
    }
};

}  // namespace CATENA_NAMESPACE
