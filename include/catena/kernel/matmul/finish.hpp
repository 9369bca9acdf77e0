// What a matmul does with a finished tile: the products meet in shared memory, and each thread
// finishes and writes results of its own, rows of a column next to each other. The epilogue is that
// of a matvec (kernel/epilogue.hpp).
#pragma once

#include "catena/kernel/gate.hpp"
#include "catena/kernel/matmul/multiply.hpp"

namespace catena::kernel {

/// Puts a warp's sums where `finish_tile` reads them: [column][row of the tile].
template <policy P, class X>
CATENA_FN void share_sums(X& x, const matmul_tile& t, const tile_sums<P>& sum, float* to) {
    const int row = x.warp() * P.rows + x.lane() / 4, column = x.lane() % 4 * 2;
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

/// All threads, after a sync.
template <policy P, class X>
CATENA_FN void finish_tile(X& x, const matmul_args& a, const matmul_tile& t,
                           const float* finished) {
    const matvec_member& m = *t.member;
    const int results = t.pairs ? rows_of_tile<P> / 2 : rows_of_tile<P>;
    const std::int64_t of_expert = t.expert * m.bias_nb1;
    CATENA_NO_UNROLL
    for (int i = x.thread(); i < t.columns * results; i += x.threads()) {
        const int row_of_tile = i % results, column_of_tile = i / results;
        if (row_of_tile >= t.rows) continue;
        const int row = t.first_row + row_of_tile, column = column_of(x, t, column_of_tile);
        const float* product = finished + column_of_tile * columns_stride<P> + row_of_tile;
        const std::int64_t to_bias = of_expert + row * std::int64_t{4};
        real v = x.load(product) * real{m.scale};
        if (m.bias != nullptr) v = v + x.load(float_at(m.bias, to_bias));
        if (t.pairs) {
            real other = x.load(product + results);
            if (m.up_bias != nullptr) other = other + x.load(float_at(m.up_bias, to_bias));
            v = gated(m.function, v, other, real{m.alpha}, real{m.limit});
        }
        if (m.residual != nullptr)
            v = v + x.load(float_at(m.residual,
                                    result_at(a, column, row, m.residual_nb1, m.residual_nb2)));
        x.store(float_at(m.dst, result_at(a, column, row, m.dst_nb1, m.dst_nb2)), v);
    }
}

/// There is no such matrix: a NaN is not overlooked.
template <class X>
CATENA_FN void finish_without(X& x, const matmul_args& a, const matmul_tile& t) {
    const matvec_member& m = *t.member;
    const real nan = from_bits(f32_nan_bits);
    for (int i = x.thread(); i < t.columns * t.rows; i += x.threads()) {
        const int row = t.first_row + i % t.rows, column = column_of(x, t, i / t.rows);
        x.store(float_at(m.dst, result_at(a, column, row, m.dst_nb1, m.dst_nb2)), nan);
    }
}

}  // namespace catena::kernel
