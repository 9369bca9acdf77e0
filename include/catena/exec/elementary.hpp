// Elementary functions on `real`, built from its operations alone: so they too have the same bits
// on a GPU and on the host. Errors are the greatest of all floats, against the exact value rounded.
// A NaN stays one.
#pragma once

#include "catena/exec/real.hpp"

namespace catena {

/// a < b as numbers: false for NaN, and -0 is not below 0.
CATENA_FN bool less(real a, real b) {
#if defined(__CUDA_ARCH__)
    int r;  // in asm: a comparison of floats may be told to flush subnormals
    asm("{ .reg .pred p; setp.lt.f32 p, %1, %2; selp.s32 %0, 1, 0, p; }"
        : "=r"(r)
        : "f"(a.v), "f"(b.v));
    return r != 0;
#else
    if (is_nan(a) || is_nan(b)) return false;
    const auto rank = [](real v) {
        const auto magnitude = static_cast<std::int32_t>(bits_of(v) & 0x7fffffffu);
        return (bits_of(v) >> 31) != 0 ? -magnitude : magnitude;
    };
    return rank(a) < rank(b);
#endif
}

CATENA_FN real clamp(real v, real low, real high) {
    return less(v, low) ? low : less(high, v) ? high : v;
}

/// Coefficients from the highest power down, by Horner's rule.
template <int N>
CATENA_FN real polynomial(real x, const float (&c)[N]) {
    real sum{c[0]};
    CATENA_UNROLL
    for (int i = 1; i < N; ++i) sum = fma(sum, x, real{c[i]});
    return sum;
}

/// e^v, within 1.1 ulp. v = n ln 2 + r with |r| <= ln 2 / 2; e^r = 1 + r + r^2 p(r), p fitted
/// there.
CATENA_FN real exp(real v) {
    v = clamp(v, real{-104}, real{89});  // beyond, the result is 0 or infinity all the same
    const float magic = 0x1.8p23f;       // adding it rounds to an integer, in the lowest bits
    const real shifted = fma(v, real{0x1.715476p0f}, real{magic});
    const real n = shifted - real{magic};
    const real r = fma(n, real{-0x1.7f7d1cp-20f}, fma(n, real{-0x1.62e4p-1f}, v));
    const float p[] = {0x1.6d30dep-10f, 0x1.120c9ep-7f, 0x1.5555p-5f, 0x1.5554dcp-3f, 0x1p-1f};
    const real e = fma(r * r, polynomial(r, p), r) + real{1};
    // 2^n in two factors: n runs from -150, where the second alone rounds, to 128.
    const int power = static_cast<int>(bits_of(shifted) - 0x4b400000u);
    const int half = power / 2, rest = power - half;
    return e * from_bits(static_cast<unsigned>(half + 127) << 23) *
           from_bits(static_cast<unsigned>(rest + 127) << 23);
}

/// Within 1.4 ulp. A polynomial where 1 - 2 / (e^2v + 1) would cancel.
CATENA_FN real tanh(real v) {
    const real a = abs(v), square = v * v;
    real t;
    if (less(a, real{0.6f})) {
        const float p[] = {-0x1.9c6118p-8f, 0x1.5a2e18p-6f, -0x1.b95fa6p-5f, 0x1.110f1ap-3f,
                           -0x1.555554p-2f};
        t = fma(a * square, polynomial(square, p), a);
    } else {
        t = real{1} - real{2} / (exp(a + a) + real{1});
    }
    return from_bits(bits_of(t) | (bits_of(v) & 0x80000000u));
}

/// The error function of v is 1 - e^-u, with v's sign, where |v| is 1 or more; below, a polynomial.
/// In parts, for who needs an exp anyway: erf(v) == erf_of(v, exp(-erf_exponent(v))).
CATENA_FN real erf_exponent(real v) {
    const float q[] = {-0x1.b68702p-20f, 0x1.8196d4p-15f, -0x1.386392p-11f,
                       0x1.379142p-8f,   -0x1.b0968cp-6f, 0x1.c2bd58p-4f,
                       0x1.43845cp-1f,   0x1.215526p+0f,  -0x1.47cb62p-12f};
    return polynomial(clamp(abs(v), real{0}, real{3.95f}), q);
}
CATENA_FN real erf_of(real v, real exp_of_exponent) {
    const real square = v * v;
    if (less(abs(v), real{1})) {
        const float p[] = {0x1.4c2f4cp-14f, -0x1.a5099ep-11f, 0x1.542deep-8f, -0x1.b7fe8ep-6f,
                           0x1.ce2d5p-4f,   -0x1.812740p-2f,  0x1.06eba8p-3f};
        return fma(v, polynomial(square, p), v);
    }
    const real t = real{1} - exp_of_exponent;
    return from_bits(bits_of(t) | (bits_of(v) & 0x80000000u));
}

/// Within 1.1 ulp.
CATENA_FN real erf(real v) { return erf_of(v, exp(-erf_exponent(v))); }

}  // namespace catena
