// tq1_0 and tq2_0: 256 values of -1, 0 or 1 times an f16 scale. tq2_0 has two bits each: in each
// half of 128 values, value 32a + b (b < 32) lies in bits 2a, 2a + 1 of byte b. tq1_0 has five in a
// byte, four in the last four bytes: the byte is a fraction of 256 whose digits to base 3 are the
// values, the first in front.
#pragma once

#include "catena/format/format.hpp"
#include "catena/format/half.hpp"
#include "catena/format/rounding.hpp"

#include <cstdint>

namespace CATENA_NAMESPACE {

struct block_tq1_0 {
    std::uint8_t qs[52];  ///< the last four hold four values each
    std::uint16_t d;      ///< f16
};

struct block_tq2_0 {
    std::uint8_t qs[64];
    std::uint16_t d;  ///< f16
};

namespace detail {

/// The scale of 256 values, which is that of the largest magnitude, and their digits 0, 1, 2.
struct ternary_256 {
    std::uint16_t d;
    std::uint8_t digits[256];

    static ternary_256 nearest(const float* in) {
        const float largest = f32_from_bits(largest_magnitude({in, 256}));
        ternary_256 out;
        out.d = f16_from_f32(largest);
        const float per_d = inverse_or_zero(largest);
        for (int i = 0; i < 256; ++i)
            out.digits[i] = static_cast<std::uint8_t>(nearest_level(in[i] * per_d, -1, 1) + 1);
        return out;
    }
};

/// Where a value of tq1_0 lies. The first 160 values take 32 bytes, the next 80 take 16, and the
/// last 16 take 4: digit n of byte m is value n * bytes + m of the run.
struct tq1_0_place {
    int byte, digit;
};
CATENA_FN constexpr tq1_0_place place_in_tq1_0(int i) {
    if (i < 160) return {i % 32, i / 32};
    if (i < 240) return {32 + (i - 160) % 16, (i - 160) / 16};
    return {48 + i % 4, (i - 240) / 4};
}

}  // namespace detail

template <>
struct codec<format::tq1_0> : codec_with_d<block_tq1_0, -6> {
    /// Values must be finite. The bytes are those of ggml's reference quantizer.
    static void encode(const float* in, block* out) {
        constexpr int weights[5] = {81, 27, 9, 3, 1};
        const auto best = detail::ternary_256::nearest(in);
        int numbers[52] = {};
        for (int i = 0; i < 256; ++i) {
            const auto [byte, digit] = detail::place_in_tq1_0(i);
            numbers[byte] += best.digits[i] * weights[digit];
        }
        for (int byte = 0; byte < 52; ++byte)  // the next fraction above, so that digits survive
            out->qs[byte] = static_cast<std::uint8_t>((numbers[byte] * 256 + 242) / 243);
        out->d = best.d;
    }

    template <class Real>
    static void decode(const block* in, Real* out) {
        constexpr int powers[5] = {1, 3, 9, 27, 81};
        const Real d = f32_from_f16(in->d);
        for (int i = 0; i < 256; ++i) {
            const auto [byte, digit] = detail::place_in_tq1_0(i);
            const int rest = in->qs[byte] * powers[digit] & 255;  // digits in front cut off
            out[i] = d * static_cast<Real>((rest * 3 >> 8) - 1);
        }
    }
};

template <>
struct codec<format::tq2_0> {
    using block = block_tq2_0;

    /// Values must be finite. The bytes are those of ggml's reference quantizer.
    static void encode(const float* in, block* out) {
        const auto best = detail::ternary_256::nearest(in);
        *out = {{}, best.d};
        for (int i = 0; i < 256; ++i) {
            std::uint8_t& byte = out->qs[i / 128 * 32 + i % 32];
            byte = static_cast<std::uint8_t>(byte | best.digits[i] << i % 128 / 32 * 2);
        }
    }

    template <class Real>
    static void decode(const block* in, Real* out) {
        const Real d = f32_from_f16(in->d);
        for (int i = 0; i < 256; ++i)
            out[i] =
                d * static_cast<Real>((in->qs[i / 128 * 32 + i % 32] >> i % 128 / 32 * 2 & 3) - 1);
    }

    /// d of either sign, its magnitude in [1.5 * 2^-7, 2^-6): random bits make 2s too.
    static void bound(block* b) { b->d = static_cast<std::uint16_t>(0x2200 | (b->d & 0x81ff)); }
};

}  // namespace CATENA_NAMESPACE
