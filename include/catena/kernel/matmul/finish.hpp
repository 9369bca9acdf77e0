// What a matmul does with a finished tile: the products meet in shared memory, and each thread
// finishes and writes results of its own, rows of a column next to each other. The epilogue is that
// of a matvec (kernel/epilogue.hpp); what is quantized is so in the layouts that matmuls read.
#pragma once

#include "catena/kernel/gate.hpp"
#include "catena/kernel/matmul/multiply.hpp"
#include "catena/kernel/quantize.hpp"

namespace catena::kernel {

/// Puts a warp's sums where `finish_tile` reads them: [column][row of the tile], of each slice.
template <policy P, class X>
CATENA_FN void share_sums(X& x, const matmul_tile& t, const tile_sums<P>& sum, int first_row,
                          float* to) {
    const int row = first_row + x.lane() / 4, column = x.lane() % 4 * 2;
    CATENA_UNROLL
    for (int n = 0; n < P.columns / mma_columns; ++n) {
        if (n > 0 && n * mma_columns >= t.columns) continue;
        CATENA_UNROLL
        for (int m = 0; m < P.rows / mma_rows; ++m) {
            CATENA_UNROLL
            for (int i = 0; i < 4; ++i)
                x.store(to + (n * mma_columns + column + i % 2) * columns_stride<P> + row +
                            m * mma_rows + i / 2 * 8,
                        sum[m][n][i]);
        }
    }
}

/// Where a result lies in a tensor of the member's shape.
CATENA_FN std::int64_t result_at(const matmul_args& a, int column, int row, std::int64_t nb1,
                                 std::int64_t nb2) {
    if (a.ids == nullptr) return column * nb1 + row * std::int64_t{4};
    return column / a.slots * nb2 + column % a.slots * nb1 + row * std::int64_t{4};
}

CATENA_FN float* float_at(float* base, std::int64_t bytes) {
    return reinterpret_cast<float*>(reinterpret_cast<std::byte*>(base) + bytes);
}
CATENA_FN const float* float_at(const float* base, std::int64_t bytes) {
    return reinterpret_cast<const float*>(reinterpret_cast<const std::byte*>(base) + bytes);
}

/// A product, its slices added in their sequence.
template <policy P, class X>
CATENA_FN real sum_of_slices(X& x, const float* product) {
    real sum = x.load(product);
    CATENA_UNROLL
    for (int i = 1; i < slices_of_tile<P>; ++i)
        sum = sum + x.load(product + i * finished_of_slice<P>);
    return sum;
}

CATENA_FN bool is_quantized(const matvec_member& m) {
    return m.q8_1_mmq_d4 != nullptr || m.q8_1_mmq_ds4 != nullptr || m.bf16_mma != nullptr ||
           m.f16_mma != nullptr;
}

/// Quantizes the finished results of a tile, which are whole blocks of 32; the tile with a column's
/// last row adds the padding. All threads, after a sync.
template <policy P, class X>
CATENA_FN void quantize_tile(X& x, const matmul_args& a, const matmul_tile& t,
                             const float* finished) {
    const matvec_member& m = *t.member;
    const bool last = t.first_row + t.rows == m.rows;
    const auto stored = static_cast<int>(stored_elements(format::q8_1_mmq_d4, m.rows));
    const int quads = (last ? stored - t.first_row : t.rows) / quad, all = t.columns * quads;
    CATENA_NO_UNROLL
    for (int first = 0; first < all; first += x.threads()) {  // whole warps
        const int i = first + x.thread();
        const int column_of_tile = i / quads, row = i % quads * quad;
        word4 word{0, 0, 0, 0};
        if (i < all && row < t.rows)
            word = x.load16(finished + column_of_tile * columns_stride<P> + row);
        const real v[quad] = {from_bits(word.x), from_bits(word.y), from_bits(word.z),
                              from_bits(word.w)};
        const int column = i < all ? column_of(x, t, column_of_tile) : 0;
        if (i < all) {  // before the rest: fewer values are alive
            store_halves<format::bf16>(x, m.bf16_mma, a.columns, column, t.first_row + row, v);
            store_halves<format::f16>(x, m.f16_mma, a.columns, column, t.first_row + row, v);
        }
        const quantized_quad z = quantize(x, v);
        if (i >= all) continue;
        const auto store = [&](void* to, unsigned scales) {
            if (to == nullptr) return;
            store_share(x, place_of_mmq(to, a.columns, column, t.first_row + row), scales, z.q);
        };
        store(m.q8_1_mmq_d4, z.d_bits());
        store(m.q8_1_mmq_ds4, z.ds);
    }
}

/// All threads, after a sync. Where there is no such matrix results are NaN, which is not
/// overlooked. `finished` is read, and written where results are quantized.
template <policy P, class X>
CATENA_FN void finish_tile(X& x, const matmul_args& a, const matmul_tile& t, bool there,
                           float* finished) {
    const matvec_member& m = *t.member;
    const int results = t.pairs ? rows_of_tile<P> / 2 : rows_of_tile<P>;
    const std::int64_t of_expert = t.expert * m.bias_nb1;
    CATENA_NO_UNROLL
    for (int i = x.thread(); i < t.columns * results; i += x.threads()) {
        const int row_of_tile = i % results, column_of_tile = i / results;
        if (row_of_tile >= t.rows) continue;
        const int row = t.first_row + row_of_tile, column = column_of(x, t, column_of_tile);
        float* product = finished + column_of_tile * columns_stride<P> + row_of_tile;
        const std::int64_t to_bias = of_expert + row * std::int64_t{4};
        real v = from_bits(f32_nan_bits);
        if (there) {
            v = sum_of_slices<P>(x, product) * real{m.scale};
            if (m.bias != nullptr) v = v + x.load(float_at(m.bias, to_bias));
            if (t.pairs) {
                real other = sum_of_slices<P>(x, product + results);
                if (m.up_bias != nullptr) other = other + x.load(float_at(m.up_bias, to_bias));
                v = gated(m.function, v, other, real{m.alpha}, real{m.limit});
            }
            if (m.residual != nullptr)
                v = v + x.load(float_at(m.residual, result_at(a, column, row, m.residual_nb1,
                                                              m.residual_nb2)));
        }
        if (m.dst != nullptr)
            x.store(float_at(m.dst, result_at(a, column, row, m.dst_nb1, m.dst_nb2)), v);
        if (is_quantized(m)) x.store(product, v);
    }
    if (!is_quantized(m)) return;
    x.sync();
    quantize_tile<P>(x, a, t, finished);
}

}  // namespace catena::kernel
