// Quantizing 32 values, once for all activation formats: 8 neighboring threads hold a quad each.
// The row skeleton and the epilogue of a matvec share it, so both give the same bytes.
#pragma once

#include "catena/exec/real.hpp"
#include "catena/format/half.hpp"
#include "catena/format/q8_1_mmq.hpp"
#include "catena/kernel/divider.hpp"
#include "catena/kernel/layout.hpp"

#include <cstddef>

namespace CATENA_NAMESPACE::kernel {

inline constexpr int quad = 4;  ///< neighboring elements that a thread owns

/// A thread's share of a quantized block.
struct quantized_quad {
    real d;      ///< scale of the block
    unsigned q;  ///< four int8

    CATENA_FN unsigned d_bits() const { return bits_of(d); }
};

/// One value of a quantized block.
struct quantized_value {
    real d;  ///< scale of the block
    std::int8_t q;
};

/// The largest magnitude of a quad, as bits: they compare as integers, NaN above infinity.
CATENA_FN unsigned magnitude_of(const real (&v)[quad]) {
    unsigned largest = 0;
    CATENA_UNROLL
    for (int i = 0; i < quad; ++i) {
        const unsigned bits = bits_of(v[i]) & 0x7fffffffu;
        largest = bits > largest ? bits : largest;
    }
    return largest;
}

inline constexpr unsigned infinite_bits = 0x7f800000u;  ///< a magnitude from here on is not finite

/// Four int8, rounded half away from zero.
CATENA_FN unsigned int8_word(const real (&v)[quad]) {
    unsigned word = 0;
    CATENA_UNROLL
    for (int i = 0; i < quad; ++i)
        word |= (static_cast<unsigned>(to_int8(v[i])) & 0xffu) << (8 * i);
    return word;
}

/// A block's scale from its largest magnitude: amax / 127, or NaN when it is not finite.
CATENA_FN real scale_of(unsigned largest) {
    return largest < infinite_bits ? divider::by_127()(from_bits(largest))
                                   : from_bits(f32_nan_bits);
}

/// Quantizes one quad of each thread. Eight neighbors share a scale. Whole warps.
/// d = amax / 127, q = v / d rounded half away from zero. A block that holds a NaN or an infinity
/// gets a NaN for d, so that it is not lost.
template <class X>
CATENA_FN quantized_quad quantize(X& x, const real (&v)[quad]) {
    unsigned largest = magnitude_of(v);
    CATENA_UNROLL
    for (int mask = 1; mask < 8; mask *= 2) {
        const unsigned other = x.shuffle_xor(largest, mask);
        largest = other > largest ? other : largest;
    }
    const real d = scale_of(largest);
    unsigned q = 0;
    if (largest < infinite_bits) {
        const divider quotient = divider::by_scale(d);
        q = int8_word({quotient(v[0]), quotient(v[1]), quotient(v[2]), quotient(v[3])});
    }
    return {d, q};
}

/// A block's word in q8_1_mmq_ds4. Whole warps.
template <class X>
CATENA_FN unsigned ds4_word(X& x, const quantized_quad& z) {
    int sum = x.dp4a(static_cast<int>(z.q), 0x01010101, 0);
    CATENA_UNROLL
    for (int mask = 1; mask < 8; mask *= 2) sum += x.shuffle_xor(sum, mask);
    const unsigned rounded = z.d_bits() + ds4_half_unit;  // d is not negative: a NaN stays one
    const unsigned d = rounded < f32_nan_bits ? rounded : f32_nan_bits;
    return (d & ~ds4_sum_mask) | (static_cast<unsigned>(sum) & ds4_sum_mask);
}

/// One value of each lane of a warp, which share a block of q8_1; the same bytes as by quads. q has
/// one int8.
template <class X>
CATENA_FN quantized_value quantize(X& x, real v) {
    unsigned largest = bits_of(v) & 0x7fffffffu;
    CATENA_UNROLL
    for (int mask = 1; mask < warp_size; mask *= 2) {
        const unsigned other = x.shuffle_xor(largest, mask);
        largest = other > largest ? other : largest;
    }
    const real d = scale_of(largest);
    const int q = largest < infinite_bits ? to_int8(divider::by_scale(d)(v)) : 0;
    return {d, static_cast<std::int8_t>(q)};
}

/// The addresses of a block: its word of scales, and its 32 int8.
struct block_place {
    std::byte* scales;
    std::byte* values;
};

CATENA_FN block_place place_of_q8_1(std::byte* block) { return {block, block + 4}; }

/// The 32 values from `element` on of row `row`, in a matmul's layout of `rows` rows.
CATENA_FN block_place place_of_mmq(void* base, std::int64_t rows, int row, int element) {
    std::byte* block =
        static_cast<std::byte*>(base) + (element / mmq_values * rows + row) * mmq_bytes;
    const int part = element % mmq_values / 32;
    return {block + 4 * part, block + 16 + 32 * part};
}

/// The address of element `element` of row `row` in bf16_mma or f16_mma of `rows` rows.
CATENA_FN std::byte* place_of_halves(void* base, std::int64_t rows, int row, int element) {
    return static_cast<std::byte*>(base) +
           (element / warpgroup_values * rows + row) * warpgroup_row_bytes +
           element % warpgroup_values * 2;
}

/// Four values rounded to f16 or bf16, the first in the lowest bits. An f16 overflows to infinity.
template <format F>
CATENA_FN std::uint64_t rounded_quad(const real (&v)[quad]) {
    static_assert(F == format::f16 || F == format::bf16, "floats of 16 bits");
    if constexpr (F == format::f16)
        return std::uint64_t{to_half_pair(v[2], v[3])} << 32 | to_half_pair(v[0], v[1]);
    else
        return std::uint64_t{to_bfloat16_pair(v[2], v[3])} << 32 | to_bfloat16_pair(v[0], v[1]);
}

/// Stores a quad of row `row` in bf16_mma or f16_mma of `rows` rows, if there is one.
template <format F, class X>
CATENA_FN void store_halves(X& x, void* base, std::int64_t rows, int row, int element,
                            const real (&v)[quad]) {
    if (base == nullptr) return;
    x.store(reinterpret_cast<std::uint64_t*>(place_of_halves(base, rows, row, element)),
            rounded_quad<F>(v));
}

/// Stores a thread's share. `scales` is the word that the block's format has for its scale.
template <class X>
CATENA_FN void store_share(X& x, const block_place& to, unsigned scales, unsigned q) {
    const int part = x.thread() % 8;
    if (part == 0) x.store(reinterpret_cast<unsigned*>(to.scales), scales);
    x.store(reinterpret_cast<unsigned*>(to.values + 4 * part), q);
}

}  // namespace CATENA_NAMESPACE::kernel
