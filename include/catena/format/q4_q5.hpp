// q4_0, q4_1, q5_0 and q5_1: 32 values as 4 or 5 bits times an f16 scale, minus half of their
// levels (q4_0, q5_0) or plus an f16 minimum (q4_1, q5_1). Byte i of qs holds the low four bits of
// value i below and those of value i + 16 above. Bit i of qh is the fifth of value i.
#pragma once

#include "catena/format/format.hpp"
#include "catena/format/half.hpp"
#include "catena/format/rounding.hpp"

#include <algorithm>
#include <cstdint>

namespace CATENA_NAMESPACE {

struct block_q4_0 {
    std::uint16_t d;  ///< f16
    std::uint8_t qs[16];
};

struct block_q4_1 {
    std::uint16_t d;  ///< f16
    std::uint16_t m;  ///< f16
    std::uint8_t qs[16];
};

struct block_q5_0 {
    std::uint16_t d;  ///< f16
    std::uint8_t qh[4];
    std::uint8_t qs[16];
};

struct block_q5_1 {
    std::uint16_t d;  ///< f16
    std::uint16_t m;  ///< f16
    std::uint8_t qh[4];
    std::uint8_t qs[16];
};

namespace detail {

/// The level of value i, in a block that has zeros there.
template <int Bits, class Block>
void put_level(Block& b, int i, int level) {
    auto& low = b.qs[i % 16];
    low = static_cast<std::uint8_t>(low | (level & 15) << i / 16 * 4);
    if constexpr (Bits == 5)
        b.qh[i / 8] = static_cast<std::uint8_t>(b.qh[i / 8] | level >> 4 << i % 8);
}

template <int Bits, class Block>
int level_of(const Block& b, int i) {
    const int low = b.qs[i % 16] >> i / 16 * 4 & 15;
    if constexpr (Bits == 5)
        return low | (b.qh[i / 8] >> i % 8 & 1) << 4;
    else
        return low;
}

/// Random bits of d with a magnitude in [2^-8, 2^-7), of 5 bits in [2^-9, 2^-8).
template <int Bits>
std::uint16_t bounded_scale(int bits) {
    return static_cast<std::uint16_t>((Bits == 4 ? 0x1c00 : 0x1800) | bits);
}

/// q4_0 and q5_0.
template <class Block, int Bits>
struct centered_codec {
    using block = Block;
    static constexpr int half = 1 << (Bits - 1);

    /// Values must be finite. The value of largest magnitude becomes level -half exactly, whatever
    /// its sign. The bytes are those of ggml's reference quantizer.
    static void encode(const float* in, block* out) {
        const float d = extreme_of<32>(in) / -half;
        *out = {};
        out->d = f16_from_f32(d);
        const float per_d = inverse_or_zero(d);
        for (int i = 0; i < 32; ++i)
            put_level<Bits>(
                *out, i, std::min(2 * half - 1, static_cast<int>(in[i] * per_d + (half + 0.5f))));
    }

    template <class Real>
    static void decode(const block* in, Real* out) {
        const Real d = f32_from_f16(in->d);
        for (int i = 0; i < 32; ++i) out[i] = d * static_cast<Real>(level_of<Bits>(*in, i) - half);
    }

    /// d of either sign.
    static void bound(block* b) { b->d = bounded_scale<Bits>(b->d & 0x83ff); }
};

/// q4_1 and q5_1.
template <class Block, int Bits>
struct least_codec {
    using block = Block;
    static constexpr int highest = (1 << Bits) - 1;

    /// Values must be finite. The bytes are those of ggml's reference quantizer.
    static void encode(const float* in, block* out) {
        const auto [least, most] = std::minmax_element(in, in + 32);
        const float d = (*most - *least) / highest;
        *out = {};
        out->d = f16_from_f32(d);
        out->m = f16_from_f32(*least);
        const float per_d = inverse_or_zero(d);
        for (int i = 0; i < 32; ++i)
            put_level<Bits>(*out, i,
                            std::min(highest, static_cast<int>((in[i] - *least) * per_d + 0.5f)));
    }

    /// In f32 the product is exact, so that contraction changes nothing.
    template <class Real>
    static void decode(const block* in, Real* out) {
        const Real d = f32_from_f16(in->d), m = f32_from_f16(in->m);
        for (int i = 0; i < 32; ++i) out[i] = d * static_cast<Real>(level_of<Bits>(*in, i)) + m;
    }

    /// The m that centers the levels on zero.
    static void bound(block* b) {
        b->d = bounded_scale<Bits>(b->d & 0x3ff);
        b->m = f16_from_f32(-highest / 2.0f * f32_from_f16(b->d));
    }
};

}  // namespace detail

template <>
struct codec<format::q4_0> : detail::centered_codec<block_q4_0, 4> {};
template <>
struct codec<format::q4_1> : detail::least_codec<block_q4_1, 4> {};
template <>
struct codec<format::q5_0> : detail::centered_codec<block_q5_0, 5> {};
template <>
struct codec<format::q5_1> : detail::least_codec<block_q5_1, 5> {};

}  // namespace CATENA_NAMESPACE
