// The mma of the host executor: the operands of a warp, and what each lane gets of their product.
// The layout of fragments and the model of sums are those that exec/executor.hpp states.
#pragma once

#include "catena/exec/real.hpp"
#include "catena/format/float_weights.hpp"
#include "catena/format/minifloat.hpp"

#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace CATENA_NAMESPACE::exec {

/// What lanes that meet at an mma must agree on: the K of an integer one, or behind those a format.
constexpr int mma_of_floats = 64;
constexpr int mma_detail(format f) { return mma_of_floats + static_cast<int>(f); }

/// One of the numbers that an mma multiplies; of f32, what tf32 keeps.
template <format F>
double mma_number(const unsigned char* at) {
    if constexpr (F == format::fp8_e4m3) {
        return double{f32_from_bits(f32_bits_from_e4m3(*at))};
    } else if constexpr (F == format::f32) {
        std::uint32_t bits;
        std::memcpy(&bits, at, sizeof bits);
        return double{f32_from_bits(bits & 0xffffe000u)};
    } else {
        std::uint16_t bits;
        std::memcpy(&bits, at, sizeof bits);
        return double{F == format::f16 ? f32_from_f16(bits) : f32_from_bf16(bits)};
    }
}

/// Register by register, the lanes of each next to each other: so four lanes hold 16 values of a
/// row (a column) in K's sequence.
struct mma_operands {
    unsigned a[4][32];
    unsigned b[2][32];

    template <int Steps>
    void put(int lane, const unsigned* a_words, const unsigned* b_words) {
        for (int i = 0; i < 2 * Steps; ++i) a[i][lane] = a_words[i];
        for (int i = 0; i < Steps; ++i) b[i][lane] = b_words[i];
    }

    template <int Steps>
    void add_product(int lane, int (&d)[4]) const {
        for (int i = 0; i < 4; ++i) {
            const int upper = i / 2, row = lane / 4, column = 2 * (lane % 4) + i % 2;
            int sum = 0;
            for (int step = 0; step < Steps; ++step)
                sum += dot_of_16(&a[2 * step + upper][4 * row], &b[step][4 * column]);
            d[i] = static_cast<int>(static_cast<unsigned>(d[i]) + static_cast<unsigned>(sum));
        }
    }

    template <format F>
    void add_product_of(int lane, real (&d)[4]) const {
        for (int i = 0; i < 4; ++i) {
            const int upper = i / 2, row = lane / 4, column = 2 * (lane % 4) + i % 2;
            double sum = 0;
            for (int step = 0; step < 2; ++step)
                add_dot_of<F>(&a[2 * step + upper][4 * row], &b[step][4 * column], sum);
            d[i] = catena::detail::finished(
                static_cast<float>(catena::detail::pinned(sum + double{d[i].v})));
        }
    }

  private:
    /// 16 bytes of a row and of a column.
    template <format F>
    static void add_dot_of(const unsigned* a_words, const unsigned* b_words, double& sum) {
        unsigned char x[16], y[16];
        std::memcpy(x, a_words, sizeof x);
        std::memcpy(y, b_words, sizeof y);
        for (int at = 0; at < 16; at += info(F).block_bytes)
            sum = catena::detail::pinned(
                sum + catena::detail::pinned(mma_number<F>(x + at) * mma_number<F>(y + at)));
    }

#if defined(__SSE2__)
    static int dot_of_16(const unsigned* a_words, const unsigned* b_words) {
        const __m128i x = _mm_loadu_si128(reinterpret_cast<const __m128i*>(a_words));
        const __m128i y = _mm_loadu_si128(reinterpret_cast<const __m128i*>(b_words));
        // Bytes become numbers of 16 bits, whose products are added in pairs.
        const auto low = [](__m128i v) { return _mm_srai_epi16(_mm_unpacklo_epi8(v, v), 8); };
        const auto high = [](__m128i v) { return _mm_srai_epi16(_mm_unpackhi_epi8(v, v), 8); };
        __m128i sum =
            _mm_add_epi32(_mm_madd_epi16(low(x), low(y)), _mm_madd_epi16(high(x), high(y)));
        sum = _mm_add_epi32(sum, _mm_shuffle_epi32(sum, 0x4e));
        sum = _mm_add_epi32(sum, _mm_shuffle_epi32(sum, 0xb1));
        return _mm_cvtsi128_si32(sum);
    }
#else
    static int dot_of_16(const unsigned* a_words, const unsigned* b_words) {
        std::int8_t x[16], y[16];
        std::memcpy(x, a_words, sizeof x);
        std::memcpy(y, b_words, sizeof y);
        int sum = 0;
        for (int k = 0; k < 16; ++k) sum += x[k] * y[k];
        return sum;
    }
#endif
};

}  // namespace CATENA_NAMESPACE::exec
