// q5_0 and q5_1: 32 values as 5 bits times an f16 scale, minus 16 of them or plus an f16 minimum.
// The low four bits lie as those of q4_0: byte i holds value i below and value i + 16 above. Bit i
// of qh is the fifth of value i.
#pragma once

#include "catena/format/format.hpp"
#include "catena/format/half.hpp"
#include "catena/format/rounding.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace CATENA_NAMESPACE {

struct block_q5_0 {
    std::uint16_t d;  ///< f16
    std::uint8_t qh[4];
    std::uint8_t qs[16];
};
static_assert(sizeof(block_q5_0) == 22, "ggml's layout");

struct block_q5_1 {
    std::uint16_t d;  ///< f16
    std::uint16_t m;  ///< f16
    std::uint8_t qh[4];
    std::uint8_t qs[16];
};
static_assert(sizeof(block_q5_1) == 24, "ggml's layout");

namespace detail {

template <class Block>
void put_five_bits(Block& b, int i, int level) {
    auto& low = b.qs[i % 16];
    low = static_cast<std::uint8_t>(low | (level & 15) << i / 16 * 4);
    b.qh[i / 8] = static_cast<std::uint8_t>(b.qh[i / 8] | level >> 4 << i % 8);
}

template <class Block>
int five_bits(const Block& b, int i) {
    return (b.qs[i % 16] >> i / 16 * 4 & 15) | (b.qh[i / 8] >> i % 8 & 1) << 4;
}

}  // namespace detail

template <>
struct codec<format::q5_0> {
    using block = block_q5_0;

    /// Values must be finite. The value of largest magnitude becomes level -16 exactly, whatever
    /// its sign. The bytes are those of ggml's reference quantizer.
    static void encode(const float* in, block* out) {
        float extreme = 0;
        for (int i = 0; i < 32; ++i)
            if (std::fabs(in[i]) > std::fabs(extreme)) extreme = in[i];
        const float d = extreme / -16.0f;
        *out = {f16_from_f32(d), {}, {}};
        const float per_d = inverse_or_zero(d);
        for (int i = 0; i < 32; ++i)
            detail::put_five_bits(*out, i, std::min(31, static_cast<int>(in[i] * per_d + 16.5f)));
    }

    template <class Real>
    static void decode(const block* in, Real* out) {
        const Real d = f32_from_f16(in->d);
        for (int i = 0; i < 32; ++i) out[i] = d * static_cast<Real>(detail::five_bits(*in, i) - 16);
    }

    /// d of either sign, its magnitude in [2^-9, 2^-8).
    static void bound(block* b) { b->d = static_cast<std::uint16_t>(0x1800 | (b->d & 0x83ff)); }
};

template <>
struct codec<format::q5_1> {
    using block = block_q5_1;

    /// Values must be finite. The bytes are those of ggml's reference quantizer.
    static void encode(const float* in, block* out) {
        const auto [lowest, highest] = std::minmax_element(in, in + 32);
        const float d = (*highest - *lowest) / 31.0f;
        *out = {f16_from_f32(d), f16_from_f32(*lowest), {}, {}};
        const float per_d = inverse_or_zero(d);
        for (int i = 0; i < 32; ++i)
            detail::put_five_bits(*out, i,
                                  std::min(31, static_cast<int>((in[i] - *lowest) * per_d + 0.5f)));
    }

    /// In f32 the product is exact, so that contraction changes nothing.
    template <class Real>
    static void decode(const block* in, Real* out) {
        const Real d = f32_from_f16(in->d), m = f32_from_f16(in->m);
        for (int i = 0; i < 32; ++i) out[i] = d * static_cast<Real>(detail::five_bits(*in, i)) + m;
    }

    /// d in [2^-9, 2^-8), and the m that centers the levels on zero.
    static void bound(block* b) {
        b->d = static_cast<std::uint16_t>(0x1800 | (b->d & 0x3ff));
        b->m = f16_from_f32(-15.5f * f32_from_f16(b->d));
    }
};

}  // namespace CATENA_NAMESPACE
