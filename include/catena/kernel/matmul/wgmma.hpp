// A tile of f16 or bf16 by warpgroups (sm_90a): tensor cores read both operands from shared memory,
// rows of K in the swizzled 128 bytes of exec/operand.hpp. The activation is what its maker
// rounded, to f16_mma or bf16_mma. Float weights lie in the stage as they come, like the
// activation. Quantized weights are in decoded.hpp, fp8 in fp8_wgmma.hpp.
//
// Tensor cores multiply a step while the warps prepare the next one, and start the copies of the
// one that follows all others: one block barrier a step says that it is complete, and the last one
// free.
#pragma once

#include "catena/exec/operand.hpp"
#include "catena/kernel/matmul/fill.hpp"
#include "catena/kernel/matmul/multiply.hpp"

namespace CATENA_NAMESPACE::kernel {

inline constexpr int wgmma_rows = 64, wgmma_bytes = 32;  ///< rows and bytes of K of one wgmma
inline constexpr int swizzled_chunks = exec::swizzled_row_bytes / chunk_bytes;
static_assert(exec::swizzled_row_bytes == warpgroup_row_bytes, "a step is a row of the swizzle");

/// A warpgroup multiplies 16 rows of each of its warps at once, so that what a warp gets are sums
/// of its own rows, as from an mma of its own: where those of a warp begin, and where row r of them
/// is.
inline constexpr int warpgroup_fragment_bytes = wgmma_rows * exec::swizzled_row_bytes;
template <matmul_policy P, class X>
CATENA_FN int operand_rows_of_warp(X& x) {
    return x.warp() / 4 * (P.rows / mma_rows) * warpgroup_fragment_bytes +
           x.warp() % 4 * (warpgroup_fragment_bytes / 4);
}
CATENA_FN int operand_row(int r) { return r / mma_rows * wgmma_rows + r % mma_rows; }

/// Starts products of 16 values of K, `Times` one behind the other, as a group.
template <int Times, matmul_policy P, format F, class X>
CATENA_FN void start_products(X& x, exec::wgmma_operand a, exec::wgmma_operand b,
                              tile_sums<P>& sum) {
    x.wgmma_fence();
    CATENA_UNROLL
    for (int i = 0; i < Times; ++i) {
        const int at = i * wgmma_bytes;
        CATENA_UNROLL
        for (int m = 0; m < P.rows / mma_rows; ++m)
            x.template wgmma<F>(sum[m], a + (m * warpgroup_fragment_bytes + at), b + at);
    }
    x.wgmma_commit();
}

/// Starts the products of a step, `groups` of 32 values. `rows`, `columns`: the block's operands.
template <matmul_policy P, format F, class X>
CATENA_FN void multiply_step(X& x, const std::byte* rows, const std::byte* columns, int groups,
                             tile_sums<P>& sum) {
    constexpr int fragments = P.rows / mma_rows;
    const exec::wgmma_operand a = x.operand_at(
        rows + x.warp() / 4 * fragments * warpgroup_fragment_bytes, exec::swizzle_bytes);
    const exec::wgmma_operand b = x.operand_at(columns, exec::swizzle_bytes);
    // A branch for each: of one group with a branch in it ptxas makes two, and an empty one.
    if (groups == 2)
        start_products<4, P, F>(x, a, b, sum);
    else
        start_products<2, P, F>(x, a, b, sum);
}

/// Minimal complete definition of how warpgroups multiply rows of format F, one object for a tile:
///
///     template <class X, class Block>
///     warpgroup_step(X& x, const matmul_args& a, const matmul_tile& t, part_of_k part, Block& b);
///     template <class X, class Block>  // starts the copies of a step's stage, b.fill,
///     void fill(X& x, Block& b, int step);
///     template <class X, class Block>  // waits for them and does what is left to do,
///     void prepare(X& x, Block& b, int step, int stage);
///     template <class X, class Block>  // starts their products, of stage b.read,
///     void multiply(X& x, Block& b, int step, tile_sums<P>& sum);
///     template <class X, class Block>  // and waits until they are in the sums; of a negative step
///     void finish(X& x, Block& b, int step, tile_sums<P>& sum);  // there are none
template <matmul_policy P, format F, format_set W>
struct warpgroup_step;

/// A lane's share of the activation: the chunks that it copies next, one of a column in every step,
/// of its warp's share of the columns. Those that do not exist repeat the last.
template <matmul_policy P, format L>
struct warpgroup_columns {
    static constexpr int share = P.columns * warp_size / P.threads;  ///< columns that a warp copies
    static constexpr int own = share * swizzled_chunks / warp_size;
    static constexpr int bytes = share * warpgroup_row_bytes;  ///< bytes that a warp copies

    std::int64_t block;  ///< bytes from a block to the next of its column
    const std::byte* column[own];

    template <class X>
    CATENA_FN warpgroup_columns(X& x, const matmul_args& a, const matmul_tile& t, part_of_k part)
        : block((in_mma_blocks(L) ? std::int64_t{a.x_rows} : 1) * warpgroup_row_bytes) {
        CATENA_UNROLL
        for (int i = 0; i < own; ++i) {
            const int wanted = x.warp() * share + column_of(x, i);
            const int there = wanted < t.columns ? wanted : t.columns - 1;
            column[i] = column_block<L>(a, part.first, x_row_of(x, t, there)) +
                        x.lane() % swizzled_chunks * chunk_bytes;
        }
    }

    /// Starts the copies of the next step to the block's operand.
    template <class X, class Stream>
    CATENA_FN void copy(X& x, Stream& stream, std::byte* operand) {
        std::byte* to = operand + x.warp() * bytes;
        CATENA_UNROLL
        for (int i = 0; i < own; ++i) {
            stream.copy_own(to + exec::swizzled(column_of(x, i), x.lane() % swizzled_chunks),
                            column[i], chunk_bytes);
            column[i] += block;
        }
    }

  private:
    /// The column of the warp's share of which the lane's copy i brings a chunk.
    template <class X>
    CATENA_FN static int column_of(X& x, int i) {
        return (i * warp_size + x.lane()) / swizzled_chunks;
    }
};

/// A lane's chunks of its warp's rows of float weights.
template <matmul_policy P, format F>
struct warpgroup_rows {
    static constexpr int own = P.rows * swizzled_chunks / warp_size;

    const std::byte* row[own];

    template <class X>
    CATENA_FN warpgroup_rows(X& x, const matmul_args& a, const matmul_tile& t, part_of_k part) {
        const auto weights = weight_rows_of_warp<P, F>::of(x, a, t).of_part(part);
        CATENA_UNROLL
        for (int i = 0; i < own; ++i)
            row[i] = weights.at(row_of(x, i), 0) + x.lane() % swizzled_chunks * chunk_bytes;
    }

    /// Starts the copies of the next step, `bytes` of each row, to the block's operand.
    template <class X, class Stream>
    CATENA_FN void copy(X& x, Stream& stream, std::byte* operand, int bytes) {
        const int chunk = x.lane() % swizzled_chunks;
        std::byte* to = operand + operand_rows_of_warp<P>(x);
        CATENA_UNROLL
        for (int i = 0; i < own; ++i) {
            stream.copy_own(to + exec::swizzled(operand_row(row_of(x, i)), chunk), row[i],
                            chunk * chunk_bytes < bytes ? chunk_bytes : 0);
            row[i] += warpgroup_row_bytes;
        }
    }

  private:
    /// The warp's row of which the lane's copy i brings a chunk.
    template <class X>
    CATENA_FN static int row_of(X& x, int i) {
        return (i * warp_size + x.lane()) / swizzled_chunks;
    }
};

/// A step over float weights of 16 bits.
template <matmul_policy P, format F, format_set W>
requires(F == format::f16 || F == format::bf16) struct warpgroup_step<P, F, W> {
    int k;
    warpgroup_rows<P, F> rows;
    warpgroup_columns<P, format::bf16_mma> columns;  // f16_mma lies alike

    template <class X, class Block>
    CATENA_FN warpgroup_step(X& x, const matmul_args& a, const matmul_tile& t, part_of_k part,
                             Block&)
        : k(part.values), rows(x, a, t, part), columns(x, a, t, part) {}

    template <class X, class Block>
    CATENA_FN void fill(X& x, Block& b, int step) {
        const int bytes = 2 * values_of(step);
        std::byte* to = b.ring + b.fill * stage_bytes_of<P, W>;
        b.stream.begin(b.fill, P.rows * bytes + columns.bytes);
        rows.copy(x, b.stream, to, bytes);
        columns.copy(x, b.stream, to + weight_bytes<P, W>);
        b.stream.commit(b.fill);
    }

    template <class X, class Block>
    CATENA_FN void prepare(X&, Block& b, int, int stage) const {
        b.stream.wait(stage);
    }

    template <class X, class Block>
    CATENA_FN void multiply(X& x, Block& b, int step, tile_sums<P>& sum) const {
        const std::byte* stage = b.ring + b.read * stage_bytes_of<P, W>;
        multiply_step<P, F>(x, stage, stage + weight_bytes<P, W>, values_of(step) / group_values,
                            sum);
    }

    template <class X, class Block>
    CATENA_FN void finish(X& x, Block&, int, tile_sums<P>& sum) const {
        x.template wgmma_wait<0>(sum);
    }

  private:
    /// The step over K's last 32 is half; behind them nothing of the weights is there.
    CATENA_FN int values_of(int step) const {
        const int left = k - step * warpgroup_values;
        return left < warpgroup_values ? left : warpgroup_values;
    }
};

}  // namespace CATENA_NAMESPACE::kernel
