// The float of kernel bodies: f32 whose every operation is one IEEE operation, rounded to nearest,
// never contracted, reassociated, approximated or flushed, whatever flags the including project
// compiles with. So a body gives the same bits on a GPU and on the host.
#pragma once

#include "catena/format/half.hpp"

#include <cmath>
#include <cstdint>
#include <cstring>

// On the host every operand and result passes through an empty asm, which the optimizer cannot see
// through: no identity (x + 0, x / 127, a * b + c) is left for it to rewrite. Division and square
// root, which compilers may replace by estimates, are instructions. A compiler without GNU's asm
// keeps them in volatile memory, and takes a root in double, which rounds to that in float.
namespace CATENA_NAMESPACE {

struct real {
    float v;
};

CATENA_FN std::uint32_t bits_of(real a) {
#if defined(__CUDA_ARCH__)
    return __float_as_uint(a.v);
#else
    std::uint32_t bits;
    std::memcpy(&bits, &a.v, sizeof bits);
    return bits;
#endif
}

CATENA_FN real from_bits(std::uint32_t bits) {
#if defined(__CUDA_ARCH__)
    return {__uint_as_float(bits)};
#else
    real a;
    std::memcpy(&a.v, &bits, sizeof bits);
    return a;
#endif
}

CATENA_FN bool is_nan(real a) { return (bits_of(a) & 0x7fffffffu) > 0x7f800000u; }
CATENA_FN real abs(real a) { return from_bits(bits_of(a) & 0x7fffffffu); }
CATENA_FN real operator-(real a) { return from_bits(bits_of(a) ^ 0x80000000u); }

#if defined(__CUDA_ARCH__)

CATENA_FN real operator+(real a, real b) {
    real r;
    asm("add.rn.f32 %0, %1, %2;" : "=f"(r.v) : "f"(a.v), "f"(b.v));
    return r;
}
CATENA_FN real operator-(real a, real b) {
    real r;
    asm("sub.rn.f32 %0, %1, %2;" : "=f"(r.v) : "f"(a.v), "f"(b.v));
    return r;
}
CATENA_FN real operator*(real a, real b) {
    real r;
    asm("mul.rn.f32 %0, %1, %2;" : "=f"(r.v) : "f"(a.v), "f"(b.v));
    return r;
}
CATENA_FN real operator/(real a, real b) {
    real r;
    asm("div.rn.f32 %0, %1, %2;" : "=f"(r.v) : "f"(a.v), "f"(b.v));
    return r;
}
CATENA_FN real fma(real a, real b, real c) {
    real r;
    asm("fma.rn.f32 %0, %1, %2, %3;" : "=f"(r.v) : "f"(a.v), "f"(b.v), "f"(c.v));
    return r;
}
CATENA_FN real sqrt(real a) {
    real r;
    asm("sqrt.rn.f32 %0, %1;" : "=f"(r.v) : "f"(a.v));
    return r;
}

#else

namespace detail {

/// `v`, out of the optimizer's sight.
template <class Float>
Float pinned(Float v) {
#if !defined(__GNUC__)
    volatile Float hidden = v;
    v = hidden;
#elif defined(__x86_64__)
    asm("" : "+x"(v));
#elif defined(__aarch64__)
    asm("" : "+w"(v));
#else
    asm("" : "+m"(v));
#endif
    return v;
}

/// A finished result. A NaN becomes the one that GPUs produce: which operand's payload survives on
/// the host depends on the order in which the compiler happened to put them.
inline real finished(float v) {
    const real r{pinned(v)};
    return is_nan(r) ? from_bits(0x7fffffffu) : r;
}

inline float divided(float a, float b) {
#if !defined(__GNUC__)
    a = pinned(a) / pinned(b);
#elif defined(__AVX__)
    asm("vdivss %2, %1, %0" : "=x"(a) : "x"(a), "x"(b));
#elif defined(__x86_64__)
    asm("divss %1, %0" : "+x"(a) : "x"(b));
#elif defined(__aarch64__)
    asm("fdiv %s0, %s1, %s2" : "=w"(a) : "w"(a), "w"(b));
#else
    a = pinned(a) / pinned(b);
#endif
    return a;
}

inline float root_of(float a) {
#if !defined(__GNUC__)
    a = static_cast<float>(std::sqrt(pinned<double>(a)));
#elif defined(__AVX__)
    asm("vsqrtss %1, %1, %0" : "=x"(a) : "x"(a));
#elif defined(__x86_64__)
    asm("sqrtss %1, %0" : "=x"(a) : "x"(a));
#elif defined(__aarch64__)
    asm("fsqrt %s0, %s1" : "=w"(a) : "w"(a));
#else
    a = static_cast<float>(std::sqrt(pinned<double>(a)));
#endif
    return a;
}

/// a * b + c without the instruction: the product is exact in double; the sum, rounded to odd
/// there, rounds to float as the exact sum does (Boldo and Melquiond, "Emulation of a FMA and
/// correctly rounded sums").
inline float fused_in_double(float a, float b, float c) {
    const double product = pinned(pinned<double>(a) * pinned<double>(b));
    const double addend = pinned<double>(c);
    const double sum = pinned(product + addend);
    const double from_addend = pinned(sum - product);
    const double from_product = pinned(sum - from_addend);
    const double rest = pinned(pinned(product - from_product) + pinned(addend - from_addend));
    std::uint64_t sum_bits, rest_bits;
    std::memcpy(&sum_bits, &sum, sizeof sum);
    std::memcpy(&rest_bits, &rest, sizeof rest);
    const bool finite = (sum_bits >> 52 & 0x7ffu) != 0x7ffu;
    const bool exact = rest_bits << 1 == 0;
    if (finite && !exact && (sum_bits & 1u) == 0)
        sum_bits += (sum_bits ^ rest_bits) >> 63 == 0 ? 1 : ~std::uint64_t{0};
    double odd;
    std::memcpy(&odd, &sum_bits, sizeof odd);
    return static_cast<float>(pinned(odd));
}

inline float fused(float a, float b, float c) {
#if !defined(__GNUC__)
    return fused_in_double(a, b, c);
#elif defined(__FMA__)
    asm("vfmadd231ss %2, %1, %0" : "+x"(c) : "x"(a), "x"(b));
    return c;
#elif defined(__aarch64__)
    asm("fmadd %s0, %s1, %s2, %s3" : "=w"(c) : "w"(a), "w"(b), "w"(c));
    return c;
#else
    return fused_in_double(a, b, c);
#endif
}

}  // namespace detail

inline real operator+(real a, real b) {
    return detail::finished(detail::pinned(a.v) + detail::pinned(b.v));
}
inline real operator-(real a, real b) {
    return detail::finished(detail::pinned(a.v) - detail::pinned(b.v));
}
inline real operator*(real a, real b) {
    return detail::finished(detail::pinned(a.v) * detail::pinned(b.v));
}
inline real operator/(real a, real b) { return detail::finished(detail::divided(a.v, b.v)); }
inline real fma(real a, real b, real c) { return detail::finished(detail::fused(a.v, b.v, c.v)); }
inline real sqrt(real a) { return detail::finished(detail::root_of(a.v)); }

#endif

CATENA_FN real& operator+=(real& a, real b) { return a = a + b; }
CATENA_FN real& operator-=(real& a, real b) { return a = a - b; }
CATENA_FN real& operator*=(real& a, real b) { return a = a * b; }

/// Nearest, ties to even.
CATENA_FN real from_int(int i) {
#if defined(__CUDA_ARCH__)
    real r;
    asm("cvt.rn.f32.s32 %0, %1;" : "=f"(r.v) : "r"(i));
    return r;
#else
    return {detail::pinned(static_cast<float>(i))};
#endif
}

/// Toward zero; saturates; NaN gives 0.
CATENA_FN int to_int(real a) {
#if defined(__CUDA_ARCH__)
    int i;
    asm("cvt.rzi.s32.f32 %0, %1;" : "=r"(i) : "f"(a.v));
    return i;
#else
    const std::uint32_t bits = bits_of(a);
    if (is_nan(a)) return 0;
    if ((bits & 0x7fffffffu) >= 0x4f000000u)  // 2^31
        return (bits >> 31) != 0 ? -2147483647 - 1 : 2147483647;
    return static_cast<int>(detail::pinned(a.v));
#endif
}

/// Nearest, ties away from zero; saturates to [-128, 127]; NaN gives 0.
CATENA_FN int to_int8(real a) {
#if defined(__CUDA_ARCH__)
    // Adding a half toward zero cannot carry 0.49999997 up to 1, as rounding to nearest would.
    const real half = from_bits((bits_of(a) & 0x80000000u) | 0x3f000000u);
    real r;
    asm("add.rz.f32 %0, %1, %2;" : "=f"(r.v) : "f"(a.v), "f"(half.v));
    const int i = to_int(r);
#else
    const bool negative = (bits_of(a) >> 31) != 0;
    const int whole = to_int(abs(a));
    if (whole > 128) return negative ? -128 : 127;
    const real rest = abs(a) - from_int(whole);  // exact
    const int up = bits_of(rest) >= 0x3f000000u && !is_nan(a) ? 1 : 0;
    const int i = negative ? -(whole + up) : whole + up;
#endif
    return i < -128 ? -128 : i > 127 ? 127 : i;
}

/// The bits of the nearest half, ties to even; overflow gives infinity, NaN 0x7fff.
CATENA_FN std::uint16_t to_half(real a) {
#if defined(__CUDA_ARCH__)
    std::uint16_t h;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(a.v));
    return h;
#else
    return f16_from_f32_bits(bits_of(a));
#endif
}

CATENA_FN real from_half(std::uint16_t h) {
#if defined(__CUDA_ARCH__)
    real r;
    asm("cvt.f32.f16 %0, %1;" : "=f"(r.v) : "h"(h));
    return r;
#else
    return from_bits(f32_bits_from_f16(h));
#endif
}

/// The bits of the nearest bfloat16, ties to even; overflow gives infinity, NaN 0x7fff.
CATENA_FN std::uint16_t to_bfloat16(real a) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    std::uint16_t h;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(h) : "f"(a.v));
    return h;
#else
    return bf16_from_f32_bits(bits_of(a));
#endif
}

/// Two halves, or two bfloat16, in a word, the first in its lower bits.
CATENA_FN std::uint32_t to_half_pair(real low, real high) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    std::uint32_t word;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(high.v), "f"(low.v));
    return word;
#else
    return to_half(low) | static_cast<std::uint32_t>(to_half(high)) << 16;
#endif
}
CATENA_FN std::uint32_t to_bfloat16_pair(real low, real high) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    std::uint32_t word;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(high.v), "f"(low.v));
    return word;
#else
    return to_bfloat16(low) | static_cast<std::uint32_t>(to_bfloat16(high)) << 16;
#endif
}

/// The bits of the nearest tf32, an f32 whose last 13 bits are zeros; ties away from zero.
CATENA_FN std::uint32_t to_tf32(real a) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    std::uint32_t word;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(word) : "f"(a.v));
    return word;
#else
    return is_nan(a) ? 0x7fffffffu : (bits_of(a) + 0x1000u) & 0xffffe000u;
#endif
}

}  // namespace CATENA_NAMESPACE
