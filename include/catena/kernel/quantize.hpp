// Quantizing 32 values to a block of an activation format: 8 neighbouring threads hold a quad each.
// The row skeleton and the epilogue of a matvec share it, so both give the same bytes.
#pragma once

#include "catena/exec/real.hpp"
#include "catena/format/half.hpp"
#include "catena/kernel/layout.hpp"

#include <cstddef>

namespace catena::kernel {

inline constexpr int quad = 4;  ///< neighbouring elements that a thread owns

/// What the 8 threads of a block find out together.
struct block_range {
    unsigned largest;  ///< bits of the largest |v|: they compare as integers, NaN above infinity
    real sum;

    CATENA_FN bool finite() const { return largest < 0x7f800000u; }
};

/// Whole warps.
template <class X>
CATENA_FN block_range range_of(X& x, const real (&v)[quad]) {
    block_range r{0, ((v[0] + v[1]) + v[2]) + v[3]};
    CATENA_UNROLL
    for (int i = 0; i < quad; ++i) {
        const unsigned bits = bits_of(v[i]) & 0x7fffffffu;
        r.largest = bits > r.largest ? bits : r.largest;
    }
    CATENA_UNROLL
    for (int mask = 1; mask < 8; mask *= 2) {
        const unsigned other = x.shuffle_xor(r.largest, mask);
        r.largest = other > r.largest ? other : r.largest;
        r.sum = r.sum + x.shuffle_xor(r.sum, mask);
    }
    return r;
}

/// d = amax / 127, q = v / d rounded half away from zero, s = the sum of v. A block that holds a NaN
/// or an infinity gets d = s = NaN, so that it is not lost. `block` is the one that the thread's
/// quad belongs to.
template <class X>
CATENA_FN void store_q8_1(X& x, std::byte* block, const block_range& r, const real (&v)[quad]) {
    const real d = r.finite() ? from_bits(r.largest) / real{127} : from_bits(f32_nan_bits);
    unsigned q = 0;
    CATENA_UNROLL
    for (int i = 0; i < quad; ++i) {
        const int value = r.finite() && r.largest != 0 ? to_int8(v[i] / d) : 0;
        q |= (static_cast<unsigned>(value) & 0xffu) << (8 * i);
    }
    const int part = x.thread() % 8;
    if (part == 0) {
        const unsigned s = r.finite() ? to_half(r.sum) : f16_nan;
        x.store(reinterpret_cast<unsigned*>(block), to_half(d) | (s << 16));
    }
    x.store(reinterpret_cast<unsigned*>(block + 4 + 4 * part), q);
}

}  // namespace catena::kernel
