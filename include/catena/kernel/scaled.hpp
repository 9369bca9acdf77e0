// Activations whose scales lie apart: a thread's quad of the row in every such format, by the rules
// of format/scaled.hpp to the bit. Groups of 16, 32 and 128 values belong to 4, 8 and 32
// neighboring threads; the scale of a whole row is handed in.
#pragma once

#include "catena/exec/executor.hpp"
#include "catena/kernel/args.hpp"
#include "catena/kernel/minifloat.hpp"
#include "catena/kernel/quantize.hpp"

#include <cstddef>
#include <cstdint>

namespace CATENA_NAMESPACE::kernel {

/// The largest magnitude of `threads` neighbors, as bits.
template <class X>
CATENA_FN unsigned largest_of(X& x, unsigned mine, int threads) {
    CATENA_NO_UNROLL
    for (int mask = 1; mask < threads; mask *= 2) {
        const unsigned other = x.shuffle_xor(mine, mask);
        mine = other > mine ? other : mine;
    }
    return mine;
}

/// The scale of values of at most this magnitude: `largest` / `unit`, a NaN if that is not finite.
CATENA_FN real scale_for(unsigned largest, float unit) {
    return largest < infinite_bits ? from_bits(largest) / real{unit} : from_bits(f32_nan_bits);
}

/// Is there anything to divide by the scale? Not if values are all zeros, so small that the scale
/// is, or not finite.
CATENA_FN bool divides(real scale) {
    const unsigned bits = bits_of(scale);
    return bits != 0 && bits < infinite_bits;
}

/// Four e4m3, or four e2m1 in 16 bits, the first in the lowest bits.
CATENA_FN unsigned minifloat_quad(const real (&v)[quad], bool narrow) {
    unsigned word = 0;
    CATENA_UNROLL
    for (int i = 0; i < quad; ++i) word |= minifloat_of(v[i], narrow) << (narrow ? 4 * i : 8 * i);
    return word;
}

/// The row in those formats of `Emits` that have an operand.
template <format_set Emits>
class scaled_row {
  public:
    /// `largest`: the largest magnitude of the row's values, for the formats with a scale a row.
    CATENA_FN scaled_row(const row_args& a, int row, unsigned largest)
        : a_(a), row_(row), largest_(largest) {}

    static constexpr bool none = Emits.without(scaled_formats) == Emits;
    static constexpr bool by_token = Emits.has(format::int8_token) || Emits.has(format::fp8_token);

    CATENA_FN static bool wants_largest(const row_args& a) {
        return (Emits.has(format::int8_token) && a.int8_token.data != nullptr) ||
               (Emits.has(format::fp8_token) && a.fp8_token.data != nullptr);
    }

    /// Stores the thread's elements at .. at + 3, and returns what the thread's int8 of int8_token
    /// add up to, with those of the `sum` before. Whole warps. One format after the other, in one
    /// piece of code.
    template <class X>
    CATENA_FN int store(X& x, int at, const real (&v)[quad], int sum) const {
        const bool inside = at < a_.k;
        CATENA_NO_UNROLL
        for (int f = 0; f < formats; ++f) {
            const scaled_output to = output(a_, f);
            if (to.data == nullptr) continue;
            const bool by_power = f == mxfp8_rows || f == mxfp4_rows;
            const int bits = f == fp8_group ? 7 : by_power ? 5 : f == nvfp4_rows ? 4 : 0;
            const bool grouped = bits > 0;  // 2^bits values have a scale
            const unsigned largest =
                grouped ? largest_of(x, magnitude_of(v), (1 << bits) / quad) : largest_;
            const bool narrow = f >= mxfp4_rows;
            real scale{1};
            std::uint8_t code = 0;
            if (f == fp8_tensor) {
                scale = x.load(a_.fp8_scale);
            } else if (by_power) {
                code = e8m0_of_block(largest, narrow ? 2 : 8);
                scale = from_bits(f32_bits_from_e8m0(code));
            } else {
                scale = scale_for(largest, f == int8_token   ? 127
                                           : f == nvfp4_rows ? e2m1_largest
                                                             : e4m3_largest);
            }
            real step = scale;
            if (f == nvfp4_rows) {
                const real of_tensor = x.load(a_.nvfp4_scale);
                code =
                    static_cast<std::uint8_t>(minifloat_of(divider(of_tensor).any(scale), false));
                step = of_tensor * from_e4m3(code);
            }
            unsigned word = 0;
            if (f == fp8_tensor || divides(step)) {
                const divider quotient(step);
                real q[quad];
                CATENA_UNROLL
                for (int n = 0; n < quad; ++n) q[n] = quotient.any(v[n]);
                word = f == int8_token ? int8_word(q) : minifloat_quad(q, narrow);
            }
            if (f == int8_token) sum = x.dp4a(static_cast<int>(word), 0x01010101, sum);
            if (inside && narrow) store_short(x, to, at, word);
            if (inside && !narrow) store_word(x, to, at, word);
            const int of_scale = grouped ? at & ((1 << bits) - 1) : at;
            if (f == fp8_tensor || !inside || of_scale != 0) continue;
            const std::int64_t index = grouped ? element(at) >> bits : row_;
            if (by_power || f == nvfp4_rows)
                x.store(static_cast<std::uint8_t*>(to.scales) + index, code);
            else
                store_real(x, to.scales, index, scale);
        }
        return sum;
    }

  private:
    enum written : int {
        int8_token,
        fp8_tensor,
        fp8_token,
        fp8_group,
        mxfp8_rows,
        mxfp4_rows,  // from here on two elements in a byte
        nvfp4_rows,
        formats
    };
    static_assert(formats == scaled_formats.size(), "each activation whose scales lie apart");
    const row_args& a_;
    int row_;
    unsigned largest_;

    CATENA_FN static scaled_output output(const row_args& a, int f) {
        if (Emits.has(format::int8_token) && f == int8_token) return a.int8_token;
        if (Emits.has(format::fp8_tensor) && f == fp8_tensor) return a.fp8_tensor;
        if (Emits.has(format::fp8_token) && f == fp8_token) return a.fp8_token;
        if (Emits.has(format::fp8_group) && f == fp8_group) return a.fp8_group;
        if (Emits.has(format::mxfp8_rows) && f == mxfp8_rows) return a.mxfp8;
        if (Emits.has(format::mxfp4_rows) && f == mxfp4_rows) return a.mxfp4;
        if (Emits.has(format::nvfp4_rows) && f == nvfp4_rows) return a.nvfp4;
        return {};
    }
    CATENA_FN std::int64_t element(int at) const { return row_ * std::int64_t{a_.k} + at; }

    template <class X>
    CATENA_FN void store_word(X& x, const scaled_output& to, int at, unsigned word) const {
        x.store(reinterpret_cast<unsigned*>(static_cast<std::byte*>(to.data) + element(at)), word);
    }
    template <class X>
    CATENA_FN void store_short(X& x, const scaled_output& to, int at, unsigned word) const {
        std::byte* data = static_cast<std::byte*>(to.data) + element(at) / 2;
        x.store(reinterpret_cast<std::uint16_t*>(data), static_cast<std::uint16_t>(word));
    }
    template <class X>
    CATENA_FN void store_real(X& x, void* scales, std::int64_t index, real scale) const {
        if (a_.scale_type == format::f16)
            x.store(static_cast<std::uint16_t*>(scales) + index, to_half(scale));
        else if (a_.scale_type == format::bf16)
            x.store(static_cast<std::uint16_t*>(scales) + index, to_bfloat16(scale));
        else
            x.store(static_cast<float*>(scales) + index, scale);
    }
};

}  // namespace CATENA_NAMESPACE::kernel
