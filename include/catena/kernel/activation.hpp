// The places of a row's quantized blocks, in ggml's layouts of int8 and in those of 16-bit floats.
// A norm row may be part of an activation row, or hold several. The layouts of int8 store the same
// scales and values in different places.
#pragma once

#include "catena/exec/executor.hpp"
#include "catena/kernel/args.hpp"
#include "catena/kernel/quantize.hpp"
#include "catena/kernel/row/memory.hpp"

#include <cstdint>

namespace CATENA_NAMESPACE::kernel {

static_assert(info(format::q8_1_mmq_ds4).block_bytes == mmq_bytes,
              "the layouts of a matmul are alike");

/// The activation rows that a norm row is part of, or holds, in the formats of `Emits` that have an
/// address. Elements from the norm row's end to `end` are the padding of activation rows that end
/// in the norm row.
template <format_set Emits>
class activation_rows {
  public:
    CATENA_FN activation_rows(const row_args& a, int norm_row)
        : a_(a), rows_(a.rows), row_(norm_row) {
        if (!wanted(a)) return;
        if (a.quant_k > a.k) {
            const int ratio = quotient(a.quant_k, a.k);
            rows_ = quotient(a.rows, ratio);
            row_ = quotient(norm_row, ratio);
            first_ = (norm_row - row_ * ratio) * a.k;
        } else if (a.quant_k < a.k) {
            const int ratio = quotient(a.k, a.quant_k);
            rows_ *= ratio;
            row_ *= ratio;
            ended_ = ratio;
        }
        if (first_ + a.k < a.quant_k) ended_ = 0;
    }

    /// Is anything to be stored in these formats?
    CATENA_FN static bool wanted(const row_args& a) {
        return in_int8(a) || in_bf16(a) != nullptr || in_f16(a) != nullptr;
    }

    CATENA_FN int end() const { return a_.k + ended_ * padding(); }

    /// Stores the thread's elements at .. at + 3, zeros from the norm row's end on. Whole warps.
    /// One layout after the other, in one piece of code.
    template <class X>
    CATENA_FN void store(X& x, int at, const real (&v)[quad]) const {
        if (first_of_layout == layouts && !Emits.has(format::bf16_mma) &&
            !Emits.has(format::f16_mma))
            return;
        const bool inside = at < end();
        real in[quad];  // of a row that is not finite, what lies past it need not be zeros yet
        CATENA_UNROLL
        for (int i = 0; i < quad; ++i) in[i] = at < a_.k ? v[i] : real{0};
        int row = row_, element = first_ + at, length = a_.quant_k, before = 0;
        if (at >= a_.k) element = at - a_.k, length = padding(), before = a_.quant_k;
        CATENA_NO_UNROLL
        for (; inside && element >= length; element -= length) ++row;
        element += before;
        if (inside && element < stored()) {
            store_halves<format::bf16>(x, in_bf16(a_), rows_, row, element, in);
            store_halves<format::f16>(x, in_f16(a_), rows_, row, element, in);
        }
        if (!in_int8(a_)) return;
        const quantized_quad z = quantize(x, in);
        const unsigned word = operand<ds4>(a_) != nullptr ? ds4_word(x, z) : 0;
        CATENA_NO_UNROLL
        for (int layout = first_of_layout; layout < layouts; ++layout) {
            void* const base = operand(a_, layout);
            if (base == nullptr || !inside || element >= (layout == 0 ? of_q8_1() : stored()))
                continue;
            store_share(x, static_cast<std::byte*>(base), layout, row, element, z.q,
                        layout == ds4 ? word : z.d_bits());
        }
    }

  private:
    static constexpr int layouts = 3, ds4 = 2;  ///< q8_1, then the layouts of a matmul: d4, ds4
    static constexpr int first_of_layout = Emits.has(format::q8_1)           ? 0
                                           : Emits.has(format::q8_1_mmq_d4)  ? 1
                                           : Emits.has(format::q8_1_mmq_ds4) ? ds4
                                                                             : layouts;
    const row_args& a_;
    int rows_;       ///< rows of the tensor
    int row_;        ///< activation row in which the norm row starts
    int first_ = 0;  ///< first element of the norm row within that row
    int ended_ = 1;  ///< rows that end in the norm row

    /// Elements of a row with its padding, in q8_1 and in the layouts of a matmul.
    CATENA_FN int of_q8_1() const { return a_.quant_blocks * 32; }
    CATENA_FN int stored() const {
        return static_cast<int>(stored_elements(format::q8_1_mmq_d4, a_.quant_k));
    }
    CATENA_FN int padding() const {
        return (of_q8_1() > stored() ? of_q8_1() : stored()) - a_.quant_k;
    }

    CATENA_FN static bool in_int8(const row_args& a) {
        return operand<0>(a) != nullptr || operand<1>(a) != nullptr || operand<ds4>(a) != nullptr;
    }
    CATENA_FN static void* in_bf16(const row_args& a) {
        return Emits.has(format::bf16_mma) ? a.bf16_mma : nullptr;
    }
    CATENA_FN static void* in_f16(const row_args& a) {
        return Emits.has(format::f16_mma) ? a.f16_mma : nullptr;
    }

    template <int Layout>
    CATENA_FN static void* operand(const row_args& a) {
        if constexpr (Layout == 0 && Emits.has(format::q8_1)) return a.q8_1;
        if constexpr (Layout == 1 && Emits.has(format::q8_1_mmq_d4)) return a.q8_1_mmq_d4;
        if constexpr (Layout == ds4 && Emits.has(format::q8_1_mmq_ds4)) return a.q8_1_mmq_ds4;
        return nullptr;
    }
    CATENA_FN static void* operand(const row_args& a, int layout) {
        return layout == 0 ? operand<0>(a) : layout == 1 ? operand<1>(a) : operand<ds4>(a);
    }

    /// Four 32-blocks of a row are a block of a matmul; the same blocks of all rows lie next to
    /// each other.
    template <class X>
    CATENA_FN void store_share(X& x, std::byte* base, int layout, int row, int element, unsigned q,
                               unsigned scales) const {
        const bool for_matmul = layout != 0;
        const int in = for_matmul ? element % mmq_values : element % 32;
        const std::int64_t block = for_matmul ? element / mmq_values * std::int64_t{rows_} + row
                                              : row * std::int64_t{a_.quant_blocks} + element / 32;
        std::byte* const to = base + block * (for_matmul ? mmq_bytes : q8_1_bytes);
        x.store(reinterpret_cast<unsigned*>(to + (for_matmul ? 16 : 4) + in), q);
        if (in % 32 == 0) x.store(reinterpret_cast<unsigned*>(to + in / 32 * 4), scales);
    }
};

}  // namespace CATENA_NAMESPACE::kernel
