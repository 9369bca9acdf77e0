// bf16_mma: the activation of a matmul whose tensor cores multiply floats. 64 values in a block, which
// are 128 bytes: a row of their operand (exec/operand.hpp).
#pragma once

#include "catena/format/format.hpp"
#include "catena/format/half.hpp"

#include <cstdint>

namespace catena {

struct block_bf16_mma {
    std::uint16_t v[64];  ///< bf16
};
static_assert(sizeof(block_bf16_mma) == info(format::bf16_mma).block_bytes, "no gaps");

template <>
struct codec<format::bf16_mma> {
    using block = block_bf16_mma;

    static void encode(const float* in, block* out) {
        for (int i = 0; i < 64; ++i) out->v[i] = bf16_from_f32(in[i]);
    }

    template <class Real>
    static void decode(const block* in, Real* out) {
        for (int i = 0; i < 64; ++i) out[i] = static_cast<Real>(f32_from_bf16(in->v[i]));
    }
};

}  // namespace catena
