// bf16_mma and f16_mma: the activation of a matmul whose tensor cores multiply floats. 64 values in
// a block, which are 128 bytes: a row of their operand (exec/operand.hpp).
#pragma once

#include "catena/format/format.hpp"
#include "catena/format/half.hpp"

#include <cstdint>

namespace CATENA_NAMESPACE {

struct block_half_mma {
    std::uint16_t v[64];  ///< bf16 or f16
};
static_assert(sizeof(block_half_mma) == info(format::bf16_mma).block_bytes &&
                  sizeof(block_half_mma) == info(format::f16_mma).block_bytes,
              "no gaps");

template <std::uint16_t (*Round)(float), float (*Widen)(std::uint16_t)>
struct half_mma_codec {
    using block = block_half_mma;

    static void encode(const float* in, block* out) {
        for (int i = 0; i < 64; ++i) out->v[i] = Round(in[i]);
    }

    template <class Real>
    static void decode(const block* in, Real* out) {
        for (int i = 0; i < 64; ++i) out[i] = static_cast<Real>(Widen(in->v[i]));
    }
};

template <>
struct codec<format::bf16_mma> : half_mma_codec<bf16_from_f32, f32_from_bf16> {};
template <>
struct codec<format::f16_mma> : half_mma_codec<f16_from_f32, f32_from_f16> {};

}  // namespace CATENA_NAMESPACE
