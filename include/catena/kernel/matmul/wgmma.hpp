// A tile of f16 or bf16 by warpgroups (sm_90a): tensor cores read both operands from the stage itself.
// So rows of a stage are the swizzled 128 bytes of exec/operand.hpp, weights as they come and, of the
// activation, columns that were rounded from f32 in place: eight columns are 2048 bytes, of which the
// first 1024 become the operand.
//
// Tensor cores multiply a stage while the warps start the copies of the one that follows all others,
// and round the next one: one block barrier a step says that it is complete, and the last one free.
#pragma once

#include "catena/exec/operand.hpp"
#include "catena/kernel/matmul/finish.hpp"
#include "catena/kernel/matmul/numbers.hpp"

namespace catena::kernel {

inline constexpr int wgmma_rows = 64, wgmma_bytes = 32;  ///< of K
inline constexpr int eight_columns_bytes = 2 * exec::swizzle_bytes;

/// A lane's share of a tile: the chunks that it copies next, one of a row in every step, of its warp's
/// weight rows and of its warp's share of the columns. Columns that do not exist repeat the last.
template <policy P, format F, format_set W>
struct warpgroup_stage {
    static constexpr int fragments = P.rows / mma_rows;
    static constexpr int share = P.columns * warp_size / P.threads;  ///< columns that a warp copies
    static constexpr int chunks = exec::swizzled_row_bytes / chunk_bytes;  ///< of a weight row
    static constexpr int quads = P.piece / quad;                           ///< of a column
    static constexpr int own_rows = P.rows * chunks / warp_size;
    static constexpr int own_columns = share * quads / warp_size;
    static_assert(F == format::f16 || F == format::bf16, "warpgroups multiply f16 and bf16");
    static_assert(P.threads % exec::warpgroup_threads == 0 && P.slices == 0,
                  "whole warpgroups have all of K");
    static_assert(P.piece * 2 == exec::swizzled_row_bytes, "a piece is a row of the swizzle");
    static_assert(P.copy == copy_method::async, "chunks go where the swizzle has them");
    static_assert(share % 8 == 0, "a warp rounds eight columns at a time");

    const std::byte* row[own_rows];
    const std::byte* column[own_columns];

    template <class X>
    CATENA_FN warpgroup_stage(X& x, const matmul_args& a, const matmul_tile& t) {
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

    /// Starts the copies of the next `values` values of K.
    template <class X, class Stream>
    CATENA_FN void fill(X& x, Stream& stream, std::byte* to, int stage, int values) {
        stream.begin(stage, P.rows * values * 2 + share * values * 4);
        const int chunk = x.lane() % chunks, at = x.lane() % quads;
        // A warpgroup multiplies 16 rows of each of its warps at once, so that what a warp gets are
        // sums of its own rows, as from an mma of its own.
        std::byte* rows = to + x.warp() / 4 * fragments * fragment_bytes +
                          x.warp() % 4 * fragment_bytes / 4;
        CATENA_UNROLL
        for (int i = 0; i < own_rows; ++i) {
            const int r = row_of(x, i), place = r / mma_rows * wgmma_rows + r % mma_rows;
            stream.copy_own(rows + exec::swizzled(place, chunk), row[i],
                            chunk * chunk_bytes < values * 2 ? chunk_bytes : 0);
            row[i] += P.piece * 2;
        }
        std::byte* columns = to + weight_bytes<P, W> + x.warp() * share * 4 * P.piece;
        CATENA_UNROLL
        for (int i = 0; i < own_columns; ++i) {
            stream.copy_own(columns + (i * warp_size + x.lane()) * chunk_bytes, column[i],
                            at * quad < values ? chunk_bytes : 0);
            column[i] += P.piece * 4;
        }
        stream.commit(stage);
    }

    /// Rounds the warp's columns, once its copies have come.
    template <class X>
    CATENA_FN void round(X& x, std::byte* stage, int values) const {
        constexpr int own = 8 * quads / warp_size;
        const int at = x.lane() % quads;
        std::byte* eight = stage + weight_bytes<P, W> + x.warp() * share / 8 * eight_columns_bytes;
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

    /// Starts the products of a stage, of 64 values or of K's last 32.
    template <class X>
    CATENA_FN static void multiply(X& x, const std::byte* stage, int values, tile_sums<P>& sum) {
        const exec::wgmma_operand rows = x.operand_at(
            stage + x.warp() / 4 * fragments * fragment_bytes, exec::swizzle_bytes);
        const exec::wgmma_operand columns =
            x.operand_at(stage + weight_bytes<P, W>, eight_columns_bytes);
        x.wgmma_fence();
        multiply_group(x, rows, columns, sum);
        if (values > group_values)
            multiply_group(x, rows + group_bytes, columns + group_bytes, sum);
        x.wgmma_commit();
    }

  private:
    /// The warp's row of which the lane's copy i brings a chunk.
    template <class X>
    CATENA_FN static int row_of(X& x, int i) {
        return (i * warp_size + x.lane()) / chunks;
    }

    static constexpr int group_bytes = 2 * group_values;
    static constexpr int fragment_bytes = wgmma_rows * exec::swizzled_row_bytes;

    template <class X>
    CATENA_FN static void multiply_group(X& x, exec::wgmma_operand rows,
                                         exec::wgmma_operand columns, tile_sums<P>& sum) {
        CATENA_UNROLL
        for (int at = 0; at < group_bytes; at += wgmma_bytes) {
            CATENA_UNROLL
            for (int m = 0; m < fragments; ++m)
                x.template wgmma<F>(sum[m], rows + (m * fragment_bytes + at), columns + at);
        }
    }
};

/// The products of one tile, where finish_tile reads them. All threads of the block.
template <policy P, format F, format_set W, class X, class Block>
CATENA_FN void multiply_tile_by_warpgroups(X& x, const matmul_args& a, const matmul_tile& t,
                                           Block& b) {
    constexpr int stage_bytes = stage_bytes_of<P, W>, ahead = P.stages - 1;
    warpgroup_stage<P, F, W> stages(x, a, t);
    const int steps = (a.k + P.piece - 1) / P.piece;
    const auto next = [](int stage) { return stage + 1 < P.stages ? stage + 1 : 0; };
    const auto values_of = [&](int step) {
        return a.k - step * P.piece < P.piece ? a.k - step * P.piece : P.piece;
    };
    tile_sums<P> sum;
    CATENA_UNROLL
    for (int m = 0; m < P.rows / mma_rows; ++m) {
        CATENA_UNROLL
        for (int n = 0; n < P.columns / mma_columns; ++n) {
            CATENA_UNROLL
            for (int i = 0; i < 4; ++i) sum[m][n][i] = real{0};
        }
    }

    // The first steps only fill, and the last of them rounds.
    CATENA_NO_UNROLL
    for (int step = -ahead; step < steps; ++step) {
        if (step >= 0) {
            x.sync();
            stages.multiply(x, b.ring + b.read * stage_bytes, values_of(step), sum);
        }
        if (step + ahead < steps) {
            stages.fill(x, b.stream, b.ring + b.fill * stage_bytes, b.fill, values_of(step + ahead));
            b.fill = next(b.fill);
        }
        if (step >= -1 && step + 1 < steps) {
            const int rounded = step < 0 ? b.read : next(b.read);
            b.stream.wait(rounded);
            stages.round(x, b.ring + rounded * stage_bytes, values_of(step + 1));
            x.async_fence();
        }
        if (step < 0) continue;
        x.template wgmma_wait<0>(sum);
        b.stream.release(b.read);
        b.read = next(b.read);
    }
    x.sync();
    share_sums<P>(x, t, sum, x.warp() * P.rows, reinterpret_cast<float*>(b.ring));
    x.sync();
}

}  // namespace catena::kernel
