// Where the quantized blocks of a row go. A norm row may be part of an activation row, or hold
// several. Every format stores 32 values as a word of scales and 8 words of int8; they differ in
// where.
#pragma once

#include "catena/kernel/args.hpp"
#include "catena/kernel/quantize.hpp"

#include <cstddef>
#include <cstdint>

namespace catena::kernel {

static_assert(info(format::q8_1_mmq_ds4).block_bytes == mmq_bytes,
              "the layouts of a matmul are alike");

struct activation_rows {
    int rows = 0;                        ///< of the tensor
    int row_blocks = 1;                  ///< 32-blocks of a row, its padding not counted
    int q8_1_stride = 0;                 ///< the same from one q8_1 row to the next
    int first_row = 0, first_block = 0;  ///< where the norm row starts

    CATENA_FN static activation_rows of(const row_args& a, int norm_row) {
        activation_rows to;
        to.row_blocks = a.quant_k / 32;
        const int first = norm_row * (a.k / 32);
        to.rows = a.quant_k > a.k ? a.rows / (a.quant_k / a.k) : a.rows * (a.k / a.quant_k);
        to.q8_1_stride = a.quant_blocks;
        to.first_row = first / to.row_blocks;
        to.first_block = first % to.row_blocks;
        return to;
    }

    CATENA_FN block_place q8_1(void* base, int row, int block) const {
        const std::int64_t blocks = row * std::int64_t{q8_1_stride} + block;
        return place_of_q8_1(static_cast<std::byte*>(base) + blocks * q8_1_bytes);
    }
    /// Four 32-blocks of a row are one of 128; the same blocks of all rows lie next to each other.
    CATENA_FN block_place mmq(void* base, int row, int block) const {
        const std::int64_t blocks = block / 4 * std::int64_t{rows} + row;
        std::byte* at = static_cast<std::byte*>(base) + blocks * mmq_bytes;
        return {at + block % 4 * 4, at + 16 + block % 4 * 32};
    }

    /// Stores what the thread holds of 32-block `i` of the norm row.
    template <class X>
    CATENA_FN void store(X& x, const row_args& a, int i, const quantized_quad& z) const {
        int row = first_row, block = first_block + i;
        if (block >= row_blocks) row += block / row_blocks, block %= row_blocks;
        if (a.q8_1 != nullptr) store_share(x, q8_1(a.q8_1, row, block), z.ds, z.q);
        if (a.q8_1_mmq_d4 != nullptr)
            store_share(x, mmq(a.q8_1_mmq_d4, row, block), z.d_bits(), z.q);
        if (a.q8_1_mmq_ds4 != nullptr) store_share(x, mmq(a.q8_1_mmq_ds4, row, block), z.ds, z.q);
    }

    /// Zeros behind every row that ends in this norm row.
    template <class X>
    CATENA_FN void store_padding(X& x, const row_args& a) const {
        const int mmq_stride =
            static_cast<int>(stored_elements(format::q8_1_mmq_d4, a.quant_k) / 32);
        const int last = first_block + a.k / 32;
        for (int r = 0; (r + 1) * row_blocks <= last; ++r) {
            const int row = first_row + r;
            if (a.q8_1 != nullptr)
                store_zeros(x, q8_1_stride, [&](int block) { return q8_1(a.q8_1, row, block); });
            const auto pad = [&](void* base) {
                if (base != nullptr)
                    store_zeros(x, mmq_stride, [&](int block) { return mmq(base, row, block); });
            };
            pad(a.q8_1_mmq_d4);
            pad(a.q8_1_mmq_ds4);
        }
    }

  private:
    template <class X, class Place>
    CATENA_FN void store_zeros(X& x, int stride, Place place) const {
        constexpr int words = q8_1_bytes / 4;
        for (int i = x.thread(); i < (stride - row_blocks) * words; i += x.threads()) {
            const block_place to = place(row_blocks + i / words);
            const int word = i % words;
            std::byte* at = word == 0 ? to.scales : to.values + 4 * (word - 1);
            x.store(reinterpret_cast<unsigned*>(at), 0u);
        }
    }
};

}  // namespace catena::kernel
