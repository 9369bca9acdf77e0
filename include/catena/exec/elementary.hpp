// Elementary functions on `real`, built from its operations alone: so they too have the same bits
// on a GPU and on the host. Errors are the greatest of all floats, against the exact value rounded.
// A NaN stays one.
#pragma once

#include "catena/exec/real.hpp"

namespace CATENA_NAMESPACE {

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

/// The larger number; of a number and a NaN the number.
CATENA_FN real larger(real a, real b) { return is_nan(a) || less(a, b) ? b : a; }

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

/// e^v as e^r * 2^power: v = power ln 2 + r with |r| <= ln 2 / 2. e^r = 1 + r + r^2 p(r), p fitted
/// there.
struct exp_parts {
    real e;
    int power;

    CATENA_FN static exp_parts of(real v) {
        const float magic = 0x1.8p23f;  // adding it rounds to an integer, in the lowest bits
        const real shifted = fma(v, real{0x1.715476p0f}, real{magic});
        const real n = shifted - real{magic};
        const real r = fma(n, real{-0x1.7f7d1cp-20f}, fma(n, real{-0x1.62e4p-1f}, v));
        const float p[] = {0x1.6d30dep-10f, 0x1.120c9ep-7f, 0x1.5555p-5f, 0x1.5554dcp-3f, 0x1p-1f};
        return {fma(r * r, polynomial(r, p), r) + real{1},
                static_cast<int>(bits_of(shifted) - 0x4b400000u)};
    }
};

/// 2^power, where that is a normal number.
CATENA_FN real two_to(int power) { return from_bits(static_cast<unsigned>(power + 127) << 23); }

/// e^v, within 1.1 ulp.
CATENA_FN real exp(real v) {
    // Beyond these bounds the result is 0 or infinity all the same. 2^power comes in two factors:
    // power runs from -150, where the second alone rounds, to 128.
    const auto [e, power] = exp_parts::of(clamp(v, real{-104}, real{89}));
    const int half = power / 2;
    return e * two_to(half) * two_to(power - half);
}

/// The natural logarithm of a normal number above 0, within 1 ulp. v = m 2^power with m from
/// sqrt(1/2) to sqrt(2), f = m - 1, and log m = f - f^2 / 2 + f^3 p(f), p fitted there.
CATENA_FN real log(real v) {
    const unsigned root_of_half = 0x3f3504f3u, above = bits_of(v) - root_of_half;
    const real n = from_int(static_cast<int>(above) >> 23);
    const real f = from_bits((above & 0x7fffffu) + root_of_half) - real{1};
    const float p[] = {-0x1.38b52ep-4f, 0x1.055b2ap-3f, -0x1.0d8534p-3f, 0x1.22da24p-3f,
                       -0x1.547246p-3f, 0x1.99a008p-3f, -0x1.000226p-2f, 0x1.555554p-2f};
    const real square = f * f;
    const real tail = fma(square, real{-0.5f}, f * square * polynomial(f, p));
    return fma(n, real{0x1.62e4p-1f}, fma(n, real{0x1.7f7d1cp-20f}, tail) + f);
}

/// 2^(n * log2), where that is a normal number, within 1.5 ulp. The logarithm is high + low, and
/// the magnitude of the exponent at most 126.
CATENA_FN real power_of(real n, real high, real low) {
    const real product = n * high, rest = fma(n, high, -product) + n * low;
    const real shifted = product + real{0x1.8p23f}, whole = shifted - real{0x1.8p23f};
    const auto [e, power] = exp_parts::of(((product - whole) + rest) * real{0x1.62e43p-1f});
    return e * two_to(power + static_cast<int>(bits_of(shifted) - 0x4b400000u));
}

/// The sine and the cosine of an angle in radians, each within 1e-7 up to 2^20, and 2e-5 up to
/// 2^31. Of infinity and NaN neither is a finite number.
struct direction {
    real sine, cosine;

    CATENA_FN static direction of(real angle) {
        int quarter = 0;
        real r = angle;
        CATENA_UNROLL
        for (int round = 0; round < 2; ++round) {  // the second mends what large angles leave
            const real turns = r * real{0x1.45f306p-1f};
            const real half = from_bits((bits_of(turns) & 0x80000000u) | 0x3f000000u);
            const int whole = to_int(turns + half);
            const real n = from_int(whole);
            quarter += whole & 3;
            r = fma(n, real{-0x1.921fb6p0f}, r);
            r = fma(n, real{0x1.777a5cp-25f}, r);
            r = fma(n, real{0x1.ee59dap-50f}, r);
        }
        const real square = r * r;
        const float s[] = {-0x1.9a9318p-13f, 0x1.110bc2p-7f, -0x1.555552p-3f};
        const float c[] = {0x1.9bacd6p-16f, -0x1.6c128p-10f, 0x1.555554p-5f};
        const real sine = fma(r * square, polynomial(square, s), r);
        const real cosine =
            fma(square * square, polynomial(square, c), fma(square, real{-0.5f}, real{1}));
        const bool swapped = (quarter & 1) != 0;
        const real up = swapped ? cosine : sine, along = swapped ? sine : cosine;
        return {(quarter & 2) != 0 ? -up : up, ((quarter + 1) & 2) != 0 ? -along : along};
    }
};

/// 1 / v of 2^-126 to 2^126, within 1 ulp, and exact of a power of 2. From multiplications alone: a
/// division is long code, half of it for what never happens. A guess out of the bits, within an
/// eighth, and three steps of Newton.
CATENA_FN real reciprocal(real v) {
    real inverse = from_bits(0x7ef311c7u - bits_of(v));
    CATENA_UNROLL
    for (int i = 0; i < 3; ++i) inverse = fma(fma(-v, inverse, real{1}), inverse, inverse);
    return inverse;
}

/// 1 / sqrt(v) of a number that is not negative, within 1 ulp, in the same way as `reciprocal`. Of
/// infinity it is 0, of 0 something large.
CATENA_FN real inverse_root(real v) {
    const bool small = less(v, real{0x1p-64f});
    const real up = small ? v * real{0x1p64f} : v, half = real{-0.5f} * up;
    real root = from_bits(0x5f375a86u - (bits_of(up) >> 1));
    CATENA_UNROLL
    for (int i = 0; i < 3; ++i) root = fma(fma(half * root, root, real{0.5f}), root, root);
    if (bits_of(v) == 0x7f800000u) return real{0};
    return small ? root * real{0x1p32f} : root;
}

/// 1 / (1 + e^-v), within 2.1 ulp; 0 below -87, where it is a subnormal number or nearly one.
CATENA_FN real logistic(real v) {
    const auto [e, power] = exp_parts::of(-(less(real{87}, v) ? real{87} : v));
    const real share = reciprocal(real{1} + e * two_to(power));
    return less(v, real{-87}) ? real{0} : share;
}

/// log(1 + e^v), where 1 + e^v is rounded, and v itself above 20, both as in ggml.
CATENA_FN real softplus(real v) {
    const bool itself = less(real{20}, v) || is_nan(v);
    return itself ? v : log(real{1} + exp(v));
}

/// log(1 + e^v) with all its digits where e^v is small, and v itself above 20, both as in
/// ggml-cuda's SSM_SCAN. What 1 + e^v loses by rounding, the quotient brings back.
CATENA_FN real softplus_of_step(real v) {
    const real e = exp(v), sum = real{1} + e, kept = sum - real{1};
    const bool itself = less(real{20}, v) || is_nan(v);
    return itself ? v : less(real{0}, kept) ? log(sum) * (e / kept) : e;
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

/// Within 1.1 ulp. Where |v| is 1 or more it is 1 - e^-u, with v's sign; below, a polynomial.
CATENA_FN real erf(real v) {
    const real a = abs(v), square = v * v;
    if (less(a, real{1})) {
        const float p[] = {0x1.4c2f4cp-14f, -0x1.a5099ep-11f, 0x1.542deep-8f, -0x1.b7fe8ep-6f,
                           0x1.ce2d5p-4f,   -0x1.812740p-2f,  0x1.06eba8p-3f};
        return fma(v, polynomial(square, p), v);
    }
    const float u[] = {-0x1.b68702p-20f, 0x1.8196d4p-15f, -0x1.386392p-11f,
                       0x1.379142p-8f,   -0x1.b0968cp-6f, 0x1.c2bd58p-4f,
                       0x1.43845cp-1f,   0x1.215526p+0f,  -0x1.47cb62p-12f};
    const real t = real{1} - exp(-polynomial(clamp(a, real{0}, real{3.95f}), u));
    return from_bits(bits_of(t) | (bits_of(v) & 0x80000000u));
}

/// The u whose logistic function is (1 + erf(v / sqrt 2)) / 2, within 2e-7 / (1 + |v|).
CATENA_FN real normal_logit(real v) {
    const float p[] = {0x1.01cae6p-28f,  -0x1.258b92p-22f, 0x1.0e0386p-17f, -0x1.d2dd3ep-14f,
                       -0x1.098ebap-14f, 0x1.29a1d8p-4f,   0x1.98846cp+0f};
    return v * polynomial(v * v, p);
}

}  // namespace CATENA_NAMESPACE
