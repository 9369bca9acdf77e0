// Division where it is not the business of a kernel but stands in each: in quantizing.
#pragma once

#include "catena/exec/real.hpp"

namespace CATENA_NAMESPACE::kernel {

/// The quotient of two numbers that are not negative. It is a function of its own: an integer
/// division is twenty instructions, and nobody waits for these.
CATENA_NO_INLINE int quotient(int n, int by) {
    return static_cast<int>(static_cast<unsigned>(n) / static_cast<unsigned>(by));
}

/// Divides by one divisor, from multiplications alone: a division is long code, half of it for what
/// never happens. The reciprocal comes from a guess out of the divisor's bits, within an eighth,
/// and four steps of Newton. Its product is off by two ulp at most, one correction leaves half of
/// one and a rounding, and the next is right (Markstein, "Computation of elementary functions on
/// the IBM RISC System/6000 processor"), if the reciprocal is. Only that of a mantissa of ones,
/// half an ulp above a power of two, is not what the steps come to: it is an ulp more. Quotients
/// below 2^-12, which all formats round to 0, may be off, but not those by 127: no remainder is
/// lost there, and no quotient is halfway. Other divisors are brought to where none is lost from
/// 2^-12 on.
class divider {
  public:
    CATENA_FN explicit divider(real by) : divider(abs(by), bits_of(abs(by)) > 0x6c800000u) {
        if (bits_of(abs(by)) == 0x7f800000u) inverse_ = real{0};
        const unsigned sign = bits_of(by) & 0x80000000u;
        inverse_ = from_bits(bits_of(inverse_) | sign);
        by_ = from_bits(bits_of(by_) | sign);
    }

    /// A divider by a number from 0 to 2^123, such as a block's scale.
    CATENA_FN static divider by_scale(real by) { return {by, false}; }

    /// A divider by 127, as the constructor makes it.
    CATENA_FN static divider by_127() { return {real{127}, real{0x1.020408p-7f}}; }

    /// v / by if that is finite; a zero may lose its sign. If by is 0, the result is 0 for v = 0,
    /// and something large for other v.
    CATENA_FN real operator()(real v) const {
        const real n = v * unit_, first = n * inverse_;
        const real second = fma(fma(-first, by_, n), inverse_, first);
        return fma(fma(-second, by_, n), inverse_, second);
    }

    /// v / by of any two numbers.
    CATENA_FN real any(real v) const {
        const real n = v * unit_, first = n * inverse_;
        if (zero_) return v * from_bits(0x7f800000u | (bits_of(inverse_) & 0x80000000u));
        const unsigned rest = bits_of(fma(-first, by_, n)) << 1;  // its sign aside
        return rest - 1 < 0xff000000u - 1 ? (*this)(v) : first;   // exact, infinite or NaN
    }

  private:
    bool zero_;
    real unit_, by_, inverse_;

    /// A divider by a number that is not negative.
    CATENA_FN divider(real by, bool large) : zero_(bits_of(by) == 0) {
        unit_ = real{bits_of(by) < 0x12800000u ? 0x1p60f : large ? 0x1p-60f : 1.0f};
        by_ = zero_ ? real{0x1p-100f} : by * unit_;
        inverse_ = from_bits(0x7ef311c7u - bits_of(by_));
        CATENA_UNROLL
        for (int i = 0; i < 4; ++i)
            inverse_ = fma(fma(-by_, inverse_, real{1}), inverse_, inverse_);
        // The steps leave a power of two there, to which this adds an ulp. A NaN stays one.
        const bool ones = (bits_of(by_) & 0x7fffffu) == 0x7fffffu;
        inverse_ = fma(inverse_, real{ones ? 0x1p-23f : 0.0f}, inverse_);
    }
    CATENA_FN divider(real by, real inverse)
        : zero_(false), unit_(real{1}), by_(by), inverse_(inverse) {}
};

}  // namespace CATENA_NAMESPACE::kernel
