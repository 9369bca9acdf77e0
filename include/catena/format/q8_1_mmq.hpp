// q8_1_mmq_d4, _ds4 and _d2s6: the activations of a matmul on tensor cores. 128 values in a block,
// four times what q8_1 holds, their scales together in front of their int8: d alone in f32, d and s
// in f16, or, of d2s6, a d for every 64 values and the sums of every 16 of the first 96.
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

struct block_q8_1_mmq_d2s6 {
    std::uint16_t d[2];  ///< f16
    std::uint16_t s[6];  ///< f16
    std::int8_t qs[128];
};
static_assert(sizeof(block_q8_1_mmq_d2s6) == 144, "ggml's layout");

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

template <>
struct codec<format::q8_1_mmq_d2s6> {
    using block = block_q8_1_mmq_d2s6;

    static void encode(const float* in, block* out) {
        for (int part = 0; part < 2; ++part) {
            const quantized_32 z[] = {quantize_32(in + 64 * part),
                                      quantize_32(in + 64 * part + 32)};
            // The larger d is that of both halves; a NaN in one is a NaN in both.
            const bool lost = z[0].d != z[0].d || z[1].d != z[1].d;
            const float d = lost ? f32_from_bits(f32_nan_bits) : z[0].d > z[1].d ? z[0].d : z[1].d;
            out->d[part] = f16_from_f32(d);
            for (int i = 64 * part; i < 64 * part + 64; ++i)
                out->qs[i] = lost ? std::int8_t{0} : round_to_int8(in[i] / d);
            for (int i = 4 * part; i < 4 * part + 4 && i < 6; ++i)
                out->s[i] = f16_from_f32(static_cast<float>(sum_of_16(out->qs + 16 * i)) * d);
        }
    }

    template <class Real>
    static void decode(const block* in, Real* out) {
        for (int i = 0; i < 128; ++i)
            out[i] = static_cast<Real>(f32_from_f16(in->d[i / 64])) * static_cast<Real>(in->qs[i]);
    }

  private:
    static int sum_of_16(const std::int8_t* q) {
        int sum = 0;
        for (int i = 0; i < 16; ++i) sum += q[i];
        return sum;
    }
};

}  // namespace catena
