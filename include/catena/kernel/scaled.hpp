// Activations whose scales lie apart: a thread's quad of the row in every such format, by the rules
// of format/scaled.hpp to the bit. Groups of 16, 32 and 128 values belong to 4, 8 and 32 neighbouring
// threads; the scale of a whole row is handed in.
#pragma once

#include "catena/exec/executor.hpp"
#include "catena/format/minifloat.hpp"
#include "catena/kernel/args.hpp"
#include "catena/kernel/quantize.hpp"

#include <cstddef>
#include <cstdint>

namespace catena::kernel {

/// The largest magnitude of `Threads` neighbours, as bits.
template <int Threads, class X>
CATENA_FN unsigned largest_of(X& x, unsigned mine) {
    CATENA_UNROLL
    for (int mask = 1; mask < Threads; mask *= 2) {
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

CATENA_FN unsigned int8_quad(const real (&v)[quad], real scale) {
    unsigned word = 0;
    if (!divides(scale)) return word;
    CATENA_UNROLL
    for (int i = 0; i < quad; ++i)
        word |= (static_cast<unsigned>(to_int8(v[i] / scale)) & 0xffu) << (8 * i);
    return word;
}

CATENA_FN unsigned e4m3_quad(const real (&v)[quad]) {
    unsigned word = 0;
    CATENA_UNROLL
    for (int i = 0; i < quad; ++i)
        word |= static_cast<unsigned>(e4m3_from_f32_bits(bits_of(v[i]))) << (8 * i);
    return word;
}

/// Four e2m1, the first in the lowest bits.
CATENA_FN unsigned e2m1_quad(const real (&v)[quad]) {
    unsigned word = 0;
    CATENA_UNROLL
    for (int i = 0; i < quad; ++i)
        word |= static_cast<unsigned>(e2m1_from_f32_bits(bits_of(v[i]))) << (4 * i);
    return word;
}

CATENA_FN real_quad divided(const real (&v)[quad], real by) {
    return {{v[0] / by, v[1] / by, v[2] / by, v[3] / by}};
}
CATENA_FN real_quad times(const real (&v)[quad], real by) {
    return {{v[0] * by, v[1] * by, v[2] * by, v[3] * by}};
}

/// The row in those formats of `Emits` that have an operand.
template <format_set Emits>
class scaled_row {
  public:
    /// `largest`: the largest magnitude of the row's values, for the formats with a scale a row.
    CATENA_FN scaled_row(const row_args& a, int row, unsigned largest)
        : a_(a), row_(row), largest_(largest) {}

    static constexpr bool none =
        !(Emits.has(format::int8_token) || Emits.has(format::fp8_tensor) ||
          Emits.has(format::fp8_token) || Emits.has(format::fp8_group) ||
          Emits.has(format::mxfp8_rows) || Emits.has(format::mxfp4_rows) ||
          Emits.has(format::nvfp4_rows));
    static constexpr bool by_token = Emits.has(format::int8_token) || Emits.has(format::fp8_token);

    CATENA_FN static bool wants_largest(const row_args& a) {
        return (Emits.has(format::int8_token) && a.int8_token.data != nullptr) ||
               (Emits.has(format::fp8_token) && a.fp8_token.data != nullptr);
    }

    /// Stores the thread's elements at .. at + 3, and returns what the thread's int8 of int8_token
    /// add up to, with those of the `sum` before. Whole warps. A call: a thread has several quads,
    /// and the code is long.
    template <class X>
    CATENA_NO_INLINE static int store(exec::by_call<X> x, scaled_row row, int at, real_quad v, int sum) {
        return row.store_quad(x, at, v.v, sum);
    }

  private:
    const row_args& a_;
    int row_;
    unsigned largest_;

    template <class X>
    CATENA_FN int store_quad(X& x, int at, const real (&v)[quad], int sum) const {
        const bool inside = at < a_.k;
        const unsigned mine = Emits.has(format::fp8_group) || Emits.has(format::mxfp8_rows) ||
                                      Emits.has(format::mxfp4_rows) ||
                                      Emits.has(format::nvfp4_rows)
                                  ? magnitude_of(v)
                                  : 0;
        if (Emits.has(format::int8_token) && a_.int8_token.data != nullptr) {
            const real scale = scale_for(largest_, 127);
            const unsigned word = int8_quad(v, scale);
            sum = x.dp4a(static_cast<int>(word), 0x01010101, sum);
            if (inside) store_word(x, a_.int8_token, at, word);
            if (at == 0) store_real(x, a_.int8_token.scales, row_, scale);
        }
        if (Emits.has(format::fp8_tensor) && a_.fp8_tensor.data != nullptr) {
            const unsigned word = e4m3_quad(divided(v, x.load(a_.fp8_scale)).v);
            if (inside) store_word(x, a_.fp8_tensor, at, word);
        }
        if (Emits.has(format::fp8_token) && a_.fp8_token.data != nullptr) {
            const real scale = scale_for(largest_, e4m3_largest);
            const unsigned word = fp8_quad(v, scale);
            if (inside) store_word(x, a_.fp8_token, at, word);
            if (at == 0) store_real(x, a_.fp8_token.scales, row_, scale);
        }
        if (Emits.has(format::fp8_group) && a_.fp8_group.data != nullptr) {
            const real scale = scale_for(largest_of<32>(x, mine), e4m3_largest);
            const unsigned word = fp8_quad(v, scale);
            if (inside) store_word(x, a_.fp8_group, at, word);
            if (inside && at % 128 == 0)
                store_real(x, a_.fp8_group.scales, group(at, 128), scale);
        }
        if (Emits.has(format::mxfp8_rows) && a_.mxfp8.data != nullptr) {
            const std::uint8_t scale = e8m0_of_block(largest_of<8>(x, mine), 8);
            const real inverse = from_bits(f32_bits_of_inverse_e8m0(scale));
            const unsigned word = scale == e8m0_nan ? 0 : e4m3_quad(times(v, inverse).v);
            if (inside) store_word(x, a_.mxfp8, at, word);
            if (inside && at % 32 == 0) store_byte(x, a_.mxfp8.scales, group(at, 32), scale);
        }
        if (Emits.has(format::mxfp4_rows) && a_.mxfp4.data != nullptr) {
            const std::uint8_t scale = e8m0_of_block(largest_of<8>(x, mine), 2);
            const real inverse = from_bits(f32_bits_of_inverse_e8m0(scale));
            const unsigned word = scale == e8m0_nan ? 0 : e2m1_quad(times(v, inverse).v);
            if (inside) store_short(x, a_.mxfp4, at, word);
            if (inside && at % 32 == 0) store_byte(x, a_.mxfp4.scales, group(at, 32), scale);
        }
        if (Emits.has(format::nvfp4_rows) && a_.nvfp4.data != nullptr) {
            const real tensor_scale = x.load(a_.nvfp4_scale);
            const real wanted = scale_for(largest_of<4>(x, mine), e2m1_largest) / tensor_scale;
            const std::uint8_t scale = e4m3_from_f32_bits(bits_of(wanted));
            const real step = tensor_scale * from_bits(f32_bits_from_e4m3(scale));
            const unsigned word = divides(step) ? e2m1_quad(divided(v, step).v) : 0;
            if (inside) store_short(x, a_.nvfp4, at, word);
            if (inside && at % 16 == 0) store_byte(x, a_.nvfp4.scales, group(at, 16), scale);
        }
        return sum;
    }

    CATENA_FN static unsigned fp8_quad(const real (&v)[quad], real scale) {
        return divides(scale) ? e4m3_quad(divided(v, scale).v) : 0;
    }
    CATENA_FN std::int64_t element(int at) const { return row_ * std::int64_t{a_.k} + at; }
    CATENA_FN std::int64_t group(int at, int size) const { return element(at) / size; }

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
    CATENA_FN void store_byte(X& x, void* scales, std::int64_t index, std::uint8_t scale) const {
        x.store(static_cast<std::uint8_t*>(scales) + index, scale);
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

}  // namespace catena::kernel
