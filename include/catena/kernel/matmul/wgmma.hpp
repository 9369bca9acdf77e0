// A tile of f16 or bf16 by warpgroups (sm_90a): tensor cores read both operands from shared memory,
// rows of K in the swizzled 128 bytes of exec/operand.hpp. Weights that are numbers lie in the stage as
// they come, and so does their activation, rounded from f32 in place: eight columns are 2048 bytes,
// of which the first 1024 become the operand. Quantized weights are in decoded.hpp.
//
// Tensor cores multiply a step while the warps start the copies of the one that follows all others,
// and prepare the next one: one block barrier a step says that it is complete, and the last one free.
#pragma once

#include "catena/exec/operand.hpp"
#include "catena/kernel/matmul/numbers.hpp"

namespace catena::kernel {

inline constexpr int wgmma_rows = 64, wgmma_bytes = 32;  ///< of K
inline constexpr int swizzled_chunks = exec::swizzled_row_bytes / chunk_bytes;
static_assert(exec::swizzled_row_bytes == warpgroup_row_bytes, "a step is a row of the swizzle");

/// A warpgroup multiplies 16 rows of each of its warps at once, so that what a warp gets are sums of
/// its own rows, as from an mma of its own: where those of a warp begin, and where row r of them is.
inline constexpr int warpgroup_fragment_bytes = wgmma_rows * exec::swizzled_row_bytes;
template <policy P, class X>
CATENA_FN int operand_rows_of_warp(X& x) {
    return x.warp() / 4 * (P.rows / mma_rows) * warpgroup_fragment_bytes +
           x.warp() % 4 * (warpgroup_fragment_bytes / 4);
}
CATENA_FN int operand_row(int r) { return r / mma_rows * wgmma_rows + r % mma_rows; }

/// Starts the products of a step, `groups` of 32 values. `rows`, `columns`: the block's operands.
template <policy P, format F, class X>
CATENA_FN void multiply_step(X& x, const std::byte* rows, const std::byte* columns,
                             int eight_columns_bytes, int groups, tile_sums<P>& sum) {
    constexpr int fragments = P.rows / mma_rows;
    const exec::wgmma_operand a = x.operand_at(
        rows + x.warp() / 4 * fragments * warpgroup_fragment_bytes, exec::swizzle_bytes);
    const exec::wgmma_operand b = x.operand_at(columns, eight_columns_bytes);
    x.wgmma_fence();
    CATENA_UNROLL
    for (int group = 0; group < 2; ++group) {
        if (group >= groups) continue;
        CATENA_UNROLL
        for (int half = 0; half < 2; ++half) {
            const int at = (2 * group + half) * wgmma_bytes;
            CATENA_UNROLL
            for (int m = 0; m < fragments; ++m)
                x.template wgmma<F>(sum[m], a + (m * warpgroup_fragment_bytes + at), b + at);
        }
    }
    x.wgmma_commit();
}

/// Minimal complete definition of how warpgroups multiply rows of format F, one object for a tile:
///
///     template <class X, class Block>
///     warpgroup_step(X& x, const matmul_args& a, const matmul_tile& t, Block& b);
///     template <class X, class Block>  // starts the copies of a step's stage, b.fill,
///     void fill(X& x, Block& b, int step);
///     template <class X, class Block>  // makes operands of them, once they have come,
///     void prepare(X& x, Block& b, int step, int stage);
///     template <class X, class Block>  // and starts their products, of stage b.read
///     void multiply(X& x, Block& b, int step, tile_sums<P>& sum);
template <policy P, format F, format_set W>
struct warpgroup_step;

/// Of numbers: a lane's share are the chunks that it copies next, one of a row in every step, of its
/// warp's weight rows and of its warp's share of the columns. Columns that do not exist repeat the last.
template <policy P, format F, format_set W>
    requires(F == format::f16 || F == format::bf16)
struct warpgroup_step<P, F, W> {
    static constexpr int share = P.columns * warp_size / P.threads;  ///< columns that a warp copies
    static constexpr int chunks = swizzled_chunks;                   ///< of a weight row
    static constexpr int quads = P.piece / quad;                     ///< of a column
    static constexpr int own_rows = P.rows * chunks / warp_size;
    static constexpr int own_columns = share * quads / warp_size;
    static constexpr int eight_columns_bytes = 2 * exec::swizzle_bytes;
    static_assert(P.piece == warpgroup_values, "a piece is a row of the swizzle");
    static_assert(share % 8 == 0, "a warp rounds eight columns at a time");

    int k;
    const std::byte* row[own_rows];
    const std::byte* column[own_columns];

    template <class X, class Block>
    CATENA_FN warpgroup_step(X& x, const matmul_args& a, const matmul_tile& t, Block&) : k(a.k) {
        const auto weights = weight_rows_of_warp<P, F>::of(x, a, t);
        CATENA_UNROLL
        for (int i = 0; i < own_rows; ++i)
            row[i] = weights.at(row_of(x, i), 0) + x.lane() % chunks * chunk_bytes;
        CATENA_UNROLL
        for (int i = 0; i < own_columns; ++i) {
            const int wanted = x.warp() * share + (i * warp_size + x.lane()) / quads;
            const int there = wanted < t.columns ? wanted : t.columns - 1;
            column[i] =
                column_block<format::f32>(a, x.lane() % quads * quad, x_row_of(x, t, there));
        }
    }

    template <class X, class Block>
    CATENA_FN void fill(X& x, Block& b, int step) {
        const int values = values_of(step);
        std::byte* to = b.ring + b.fill * stage_bytes_of<P, W>;
        b.stream.begin(b.fill, P.rows * values * 2 + share * values * 4);
        const int chunk = x.lane() % chunks, at = x.lane() % quads;
        std::byte* rows = to + operand_rows_of_warp<P>(x);
        CATENA_UNROLL
        for (int i = 0; i < own_rows; ++i) {
            b.stream.copy_own(rows + exec::swizzled(operand_row(row_of(x, i)), chunk), row[i],
                              chunk * chunk_bytes < values * 2 ? chunk_bytes : 0);
            row[i] += P.piece * 2;
        }
        std::byte* columns = to + weight_bytes<P, W> + x.warp() * share * 4 * P.piece;
        CATENA_UNROLL
        for (int i = 0; i < own_columns; ++i) {
            b.stream.copy_own(columns + (i * warp_size + x.lane()) * chunk_bytes, column[i],
                              at * quad < values ? chunk_bytes : 0);
            column[i] += P.piece * 4;
        }
        b.stream.commit(b.fill);
    }

    /// Rounds the warp's columns.
    template <class X, class Block>
    CATENA_FN void prepare(X& x, Block& b, int step, int stage) const {
        constexpr int own = 8 * quads / warp_size;
        const int at = x.lane() % quads, values = values_of(step);
        std::byte* eight = b.ring + stage * stage_bytes_of<P, W> + weight_bytes<P, W> +
                           x.warp() * share / 8 * eight_columns_bytes;
        CATENA_UNROLL
        for (int done = 0; done < share; done += 8, eight += eight_columns_bytes) {
            word4 v[own];
            CATENA_UNROLL
            for (int i = 0; i < own; ++i)
                v[i] = at * quad < values ? x.load16(eight + (i * warp_size + x.lane()) * chunk_bytes)
                                          : word4{0, 0, 0, 0};
            x.sync_warp();
            CATENA_UNROLL
            for (int i = 0; i < own; ++i) {
                const int c = (i * warp_size + x.lane()) / quads;
                std::byte* to = eight + exec::swizzled(c, at / 2) + at % 2 * 8;
                x.store(reinterpret_cast<std::uint64_t*>(to), rounded_quad<F>(v[i]));
            }
        }
    }

    template <class X, class Block>
    CATENA_FN void multiply(X& x, Block& b, int step, tile_sums<P>& sum) const {
        const std::byte* rows = b.ring + b.read * stage_bytes_of<P, W>;
        multiply_step<P, F>(x, rows, rows + weight_bytes<P, W>, eight_columns_bytes,
                            values_of(step) / group_values, sum);
    }

  private:
    /// Of K's last 32 a step is half.
    CATENA_FN int values_of(int step) const {
        return k - step * P.piece < P.piece ? k - step * P.piece : P.piece;
    }
    /// The warp's row of which the lane's copy i brings a chunk.
    template <class X>
    CATENA_FN static int row_of(X& x, int i) {
        return (i * warp_size + x.lane()) / chunks;
    }
};

}  // namespace catena::kernel
