// Where the quantized blocks of a row go, in ggml's layouts. A norm row may be part of an activation
// row, or hold several. Every format stores scales and int8; they differ in where.
#pragma once

#include "catena/exec/executor.hpp"
#include "catena/kernel/args.hpp"
#include "catena/kernel/quantize.hpp"

#include <cstdint>

namespace catena::kernel {

static_assert(info(format::q8_1_mmq_ds4).block_bytes == mmq_bytes &&
                  info(format::q8_1_mmq_d2s6).block_bytes == mmq_bytes,
              "the layouts of a matmul are alike");

/// The activation rows that a norm row is part of, or holds, in those formats of `Emits` that have
/// an operand.
template <format_set Emits>
class activation_rows {
  public:
    static constexpr bool by_32 = Emits.has(format::q8_1) || Emits.has(format::q8_1_mmq_d4) ||
                                  Emits.has(format::q8_1_mmq_ds4);
    static constexpr bool by_64 = Emits.has(format::q8_1_mmq_d2s6);

    CATENA_FN activation_rows(const row_args& a, int norm_row) : a_(a) {
        const bool merged = a.quant_k > a.k;
        const int ratio = merged ? a.quant_k / a.k : a.k / a.quant_k;
        rows_ = merged ? a.rows / ratio : a.rows * ratio;
        row_ = merged ? norm_row / ratio : norm_row * ratio;
        first_ = merged ? norm_row % ratio * a.k : 0;
    }

    /// Is anything to be stored in these formats?
    CATENA_FN static bool wanted(const row_args& a) { return any_by_32(a) || any_by_64(a); }

    /// Stores the thread's elements at .. at + 3 of the norm row. Whole warps. A call: a thread has
    /// several quads, and the code is long.
    template <class X>
    CATENA_NO_INLINE static void store(exec::by_call<X> x, activation_rows rows, int at, real_quad v) {
        rows.store_quad(x, at, v.v);
    }

    /// Zeros behind every row that ends in this norm row; `thread` of the `threads` that share it.
    template <class X>
    CATENA_FN void store_padding(X& x, int thread, int threads) const {
        const int of_q8_1 = a_.quant_blocks * 32;
        const auto stored = static_cast<int>(stored_elements(format::q8_1_mmq_d4, a_.quant_k));
        const int end = of_q8_1 > stored ? of_q8_1 : stored;
        const int ended = (first_ + a_.k) / a_.quant_k;
        for (int r = 0; r < ended; ++r)
            for (int at = a_.quant_k + thread * quad; at < end; at += threads * quad) {
                if (any_by_32(a_)) store_by_32(x, row_ + r, at, {}, at < stored);
                if (any_by_64(a_) && at < stored) store_by_64(x, row_ + r, at, {});
            }
    }

  private:
    const row_args& a_;
    int rows_;   ///< of the tensor
    int row_;    ///< where the norm row starts
    int first_;  ///< the same within the row, in elements

    CATENA_FN static bool any_by_32(const row_args& a) {
        if constexpr (!by_32) return false;
        return a.q8_1 != nullptr || a.q8_1_mmq_d4 != nullptr || a.q8_1_mmq_ds4 != nullptr;
    }
    CATENA_FN static bool any_by_64(const row_args& a) {
        return by_64 && a.q8_1_mmq_d2s6 != nullptr;
    }

    template <class X>
    CATENA_FN void store_quad(X& x, int at, const real (&v)[quad]) const {
        int row = row_, element = first_ + at;
        if (element >= a_.quant_k) row += element / a_.quant_k, element %= a_.quant_k;
        if (any_by_32(a_)) {
            const quantized_quad z = quantize(x, v);
            if (at < a_.k) store_by_32(x, row, element, z, true);
        }
        if (any_by_64(a_)) {
            const quantized_quad z = quantize<16, 4>(x, v);
            if (at < a_.k) store_by_64(x, row, element, z);
        }
    }

    template <class X>
    CATENA_FN static void store_word(X& x, std::byte* to, unsigned word) {
        x.store(reinterpret_cast<unsigned*>(to), word);
    }
    template <class X>
    CATENA_FN static void store_half(X& x, std::byte* to, unsigned half) {
        x.store(reinterpret_cast<std::uint16_t*>(to), static_cast<std::uint16_t>(half));
    }

    /// Four 32-blocks of a row are one of 128; the same blocks of all rows lie next to each other.
    CATENA_FN std::byte* mmq_block(void* base, int row, int element) const {
        const std::int64_t blocks = element / 128 * std::int64_t{rows_} + row;
        return static_cast<std::byte*>(base) + blocks * mmq_bytes;
    }

    /// `for_matmul`: the row reaches to here in the layouts of a matmul.
    template <class X>
    CATENA_FN void store_by_32(X& x, int row, int element, const quantized_quad& z,
                               bool for_matmul) const {
        const bool first = element % 32 == 0;
        if (Emits.has(format::q8_1) && a_.q8_1 != nullptr && element < a_.quant_blocks * 32) {
            const std::int64_t blocks = row * std::int64_t{a_.quant_blocks} + element / 32;
            std::byte* to = static_cast<std::byte*>(a_.q8_1) + blocks * q8_1_bytes;
            if (first) store_word(x, to, z.ds);
            store_word(x, to + 4 + element % 32, z.q);
        }
        const auto for_mmq = [&](void* base, unsigned scales) {
            if (base == nullptr || !for_matmul) return;
            std::byte* to = mmq_block(base, row, element);
            if (first) store_word(x, to + element % 128 / 32 * 4, scales);
            store_word(x, to + 16 + element % 128, z.q);
        };
        if constexpr (Emits.has(format::q8_1_mmq_d4)) for_mmq(a_.q8_1_mmq_d4, z.d_bits());
        if constexpr (Emits.has(format::q8_1_mmq_ds4)) for_mmq(a_.q8_1_mmq_ds4, z.ds);
    }

    template <class X>
    CATENA_FN void store_by_64(X& x, int row, int element, const quantized_quad& z) const {
        std::byte* to = mmq_block(a_.q8_1_mmq_d2s6, row, element);
        const int in = element % 128;
        if (in % 64 == 0) store_half(x, to + in / 64 * 2, z.ds & 0xffffu);
        if (in % 16 == 0 && in < 96) store_half(x, to + 4 + in / 16 * 2, z.ds >> 16);
        store_word(x, to + 16 + in, z.q);
    }
};

}  // namespace catena::kernel
