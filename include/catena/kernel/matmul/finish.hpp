// What a matmul does with a finished tile: the products meet in shared memory, and each thread
// finishes and writes results of its own, rows of a column next to each other. The epilogue is that
// of a matvec (kernel/epilogue.hpp); what is quantized is so in the layouts that matmuls read.
#pragma once

#include "catena/kernel/distance.hpp"
#include "catena/kernel/epilogue_parts.hpp"
#include "catena/kernel/matmul/multiply.hpp"
#include "catena/kernel/quantize.hpp"

namespace CATENA_NAMESPACE::kernel {

/// Puts a warp's sums where `finish_tile` reads them: [column][row of the tile], of each slice.
template <matmul_policy P, class X>
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

/// A column of the result, of experts as (slot, token).
struct result_column {
    int slot, token;

    /// Without ids all columns of a tile are slots of one token; a dense tile's token is 0.
    CATENA_FN static result_column of(const matmul_args& a, const matmul_tile& t, int column) {
        if (a.ids == nullptr) return {column - t.token * a.slots, t.token};
        const int token = quotient(column, a.slots);
        return {column - token * a.slots, token};
    }
    /// The byte at which the column begins in a tensor of the result's shape.
    CATENA_FN std::int64_t at(std::int64_t nb1, std::int64_t nb2) const {
        return distance(slot, nb1) + distance(token, nb2);
    }
};

CATENA_FN float* float_at(float* base, std::int64_t bytes) {
    return reinterpret_cast<float*>(reinterpret_cast<std::byte*>(base) + bytes);
}
CATENA_FN const float* float_at(const float* base, std::int64_t bytes) {
    return reinterpret_cast<const float*>(reinterpret_cast<const std::byte*>(base) + bytes);
}

/// A product, its slices added in their sequence.
template <matmul_policy P, class X>
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
template <matmul_policy P, class X>
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
        const unsigned with_sum = m.q8_1_mmq_ds4 != nullptr ? ds4_word(x, z) : 0;
        if (i >= all) continue;
        const auto store = [&](void* to, unsigned scales) {
            if (to == nullptr) return;
            store_share(x, place_of_mmq(to, a.columns, column, t.first_row + row), scales, z.q);
        };
        store(m.q8_1_mmq_d4, z.d_bits());
        store(m.q8_1_mmq_ds4, with_sum);
    }
}

/// Columns whose results a thread finishes at once: so many reads of the residual are on their way.
inline constexpr int columns_ahead = 4;

/// How threads share a tile whose columns have so many results: `rows` of them a row each, in
/// `step` columns at once.
struct finishing_turn {
    int rows, step;

    CATENA_FN static constexpr finishing_turn of(int rows, int threads) {
        return rows < threads ? finishing_turn{rows, threads / rows} : finishing_turn{threads, 1};
    }
};

/// Finishes the results of a tile. All threads call it after a sync. A thread stays in a row of the
/// tile and goes through its columns. If there is no such matrix (`there` is false), results are
/// NaN: that cannot be overlooked. `finished` is read, and written if results are quantized.
template <matmul_policy P, class X>
CATENA_FN void finish_tile(X& x, const matmul_args& a, const matmul_tile& t, bool there,
                           float* finished) {
    const matvec_member& m = *t.member;
    constexpr int whole = rows_of_tile<P>, half = rows_of_tile<P> / 2;
    constexpr finishing_turn of_whole = finishing_turn::of(whole, P.threads),
                             of_half = finishing_turn::of(half, P.threads);
    const int rows = t.pairs ? of_half.rows : of_whole.rows;
    const int step = t.pairs ? of_half.step : of_whole.step;
    const int own = t.pairs ? x.thread() / of_half.rows : x.thread() / of_whole.rows;
    const bool quantized = is_quantized(m);
    CATENA_NO_UNROLL
    for (int row = x.thread() - own * rows; own < step && row < t.rows; row += rows) {
        const std::int64_t to_row = (t.first_row + row) * std::int64_t{4},
                           to_bias = t.expert * m.bias_nb1 + to_row;
        real bias{0}, up_bias{0};
        if (there && m.bias != nullptr) {
            bias = x.load(float_at(m.bias, to_bias));
            if (t.pairs && m.up_bias != nullptr) up_bias = x.load(float_at(m.up_bias, to_bias));
        }
        CATENA_NO_UNROLL
        for (int first = own; first < t.columns; first += columns_ahead * step) {
            result_column column[columns_ahead];
            real residual[columns_ahead];
            CATENA_UNROLL
            for (int i = 0; i < columns_ahead; ++i) {
                const int wanted = first + i * step;
                column[i] =
                    result_column::of(a, t, column_of(x, t, wanted < t.columns ? wanted : 0));
                if (wanted < t.columns && there && m.residual != nullptr)
                    residual[i] = x.load(float_at(
                        m.residual, column[i].at(m.residual_nb1, m.residual_nb2) + to_row));
            }
            CATENA_UNROLL
            for (int i = 0; i < columns_ahead; ++i) {
                const int of_tile = first + i * step;
                if (of_tile >= t.columns) continue;
                float* product = finished + of_tile * columns_stride<P> + row;
                real v = from_bits(f32_nan_bits);
                if (there) {
                    v = sum_of_slices<P>(x, product) * real{m.scale};
                    real up{1};
                    if (t.pairs) up = sum_of_slices<P>(x, product + half);
                    if (m.factor != nullptr) {
                        const int of_expert = t.expert * m.factor_step;
                        v = v * x.load(m.factor + of_expert);
                        if (m.up_factor != nullptr) up = up * x.load(m.up_factor + of_expert);
                    }
                    if (m.bias != nullptr) {
                        v = v + bias;
                        if (m.up_bias != nullptr) up = up + up_bias;
                    }
                    v = apply_functions<true>(x, m, t.pairs, v, up);
                    if (m.residual != nullptr) v = v + residual[i];
                }
                if (m.dst != nullptr)
                    x.store(float_at(m.dst, column[i].at(m.dst_nb1, m.dst_nb2) + to_row), v);
                if (quantized) x.store(product, v);
            }
        }
    }
    if (!quantized) return;
    x.sync();
    quantize_tile<P>(x, a, t, finished);
}

}  // namespace CATENA_NAMESPACE::kernel
