// q8_1_mmq_d4 and q8_1_mmq_ds4: the activations of a matmul on tensor cores. 128 values in a block,
// four times what q8_1 holds, their scales together in front of their int8. d4 is ggml's layout of
// that name. ds4 also has the sum of each 32 int8, which weights with a min are multiplied with: in
// the low bits of the word whose high bits are d. ggml's ds4 has two f16 there, which overflow.
#pragma once

#include "catena/format/q8_1.hpp"

namespace CATENA_NAMESPACE {

struct block_q8_1_mmq_d4 {
    float d[4];
    std::int8_t qs[128];
};

struct block_q8_1_mmq_ds4 {
    std::uint32_t ds[4];
    std::int8_t qs[128];
};

/// The bits of a word of ds4 that hold the sum of 32 int8, at most 4096 in magnitude, in two's
/// complement. The others hold d, rounded to 10 bits of mantissa, ties away from zero: a tf32.
inline constexpr std::uint32_t ds4_sum_mask = (1u << 13) - 1;
inline constexpr std::uint32_t ds4_half_unit = (ds4_sum_mask + 1) / 2;  ///< half of d's last bit

inline std::uint32_t ds4_word(const quantized_32& z) {
    int sum = 0;
    for (const std::int8_t q : z.q) sum += q;
    const std::uint32_t d = z.d == z.d ? f32_bits(z.d) + ds4_half_unit : f32_nan_bits;
    return (d & ~ds4_sum_mask) | (static_cast<std::uint32_t>(sum) & ds4_sum_mask);
}

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
            out->ds[part] = ds4_word(z);
            std::memcpy(out->qs + 32 * part, z.q, sizeof z.q);
        }
    }

    template <class Real>
    static void decode(const block* in, Real* out) {
        for (int i = 0; i < 128; ++i)
            out[i] = static_cast<Real>(f32_from_bits(in->ds[i / 32] & ~ds4_sum_mask)) *
                     static_cast<Real>(in->qs[i]);
    }
};

}  // namespace CATENA_NAMESPACE
