// q8_1_mmq_d4 and q8_1_mmq_ds4: the activations of a matmul on tensor cores. 128 values in a block,
// four times what q8_1 holds, their scales together in front of their int8: d alone in f32, or d
// and s in f16.
#pragma once

#include "catena/format/q8_1.hpp"

namespace catena {

struct block_q8_1_mmq_d4 {
    float d[4];
    std::int8_t qs[128];
};
static_assert(sizeof(block_q8_1_mmq_d4) == 144, "ggml's layout");

struct block_q8_1_mmq_ds4 {
    struct {
        std::uint16_t d, s;  ///< f16
    } scales[4];
    std::int8_t qs[128];
};
static_assert(sizeof(block_q8_1_mmq_ds4) == 144, "ggml's layout");

template <>
struct codec<format::q8_1_mmq_d4> {
    using block = block_q8_1_mmq_d4;

    static void encode(const float* in, block* out) {
        for (int part = 0; part < 4; ++part) {
            const quantized_32 z = quantize_32(in + 32 * part);
            out->d[part] = z.d;
            std::memcpy(out->qs + 32 * part, z.q, sizeof z.q);
        }
    }

    template <class Real>
    static void decode(const block* in, Real* out) {
        for (int i = 0; i < 128; ++i)
            out[i] = static_cast<Real>(in->d[i / 32]) * static_cast<Real>(in->qs[i]);
    }
};

template <>
struct codec<format::q8_1_mmq_ds4> {
    using block = block_q8_1_mmq_ds4;

    static void encode(const float* in, block* out) {
        for (int part = 0; part < 4; ++part) {
            const quantized_32 z = quantize_32(in + 32 * part);
            out->scales[part] = {f16_from_f32(z.d), f16_from_f32(z.sum)};
            std::memcpy(out->qs + 32 * part, z.q, sizeof z.q);
        }
    }

    template <class Real>
    static void decode(const block* in, Real* out) {
        for (int i = 0; i < 128; ++i)
            out[i] = static_cast<Real>(f32_from_f16(in->scales[i / 32].d)) *
                     static_cast<Real>(in->qs[i]);
    }
};

}  // namespace catena
