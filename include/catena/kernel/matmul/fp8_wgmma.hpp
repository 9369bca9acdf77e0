// A tile of fp8 by warpgroups (sm_90a): weights and activation lie in the stage as they come, rows
// of 128 values in the swizzle of exec/operand.hpp, and behind them the scales of their group.
//
// Tensor cores add the products of a step, from zero; f32 takes over there, as in fp8.hpp. A
// warpgroup does so for 64 rows at a time, while tensor cores have those of another.
#pragma once

#include "catena/kernel/matmul/wgmma.hpp"

namespace CATENA_NAMESPACE::kernel {

/// A thread's share of a step's scales: first those of the columns, then of the rows.
template <matmul_policy P, format_set W>
struct warpgroup_scales {
    static constexpr int all = P.columns + rows_of_tile<P>;
    static constexpr int own = (all + P.threads - 1) / P.threads;

    int bytes = 0;  ///< size of what the warp copies at a step
    const float* next[own];
    int left[own], steps[own];  ///< steps until the next scale, and from one scale to the next

    /// Rows without scales are times 1, which lies in all stages of `ring`.
    template <class X>
    CATENA_FN warpgroup_scales(X& x, const matmul_args& a, const matmul_tile& t, part_of_k part,
                               std::byte* ring) {
        const int of_k = a.k / fp8_values, first = part.first / fp8_values;
        const auto* of_columns = reinterpret_cast<const float*>(static_cast<const std::byte*>(a.x) +
                                                                a.x_rows * a.x_bytes);
        CATENA_UNROLL
        for (int i = 0; i < own; ++i) {
            const int n = i * P.threads + x.thread();
            next[i] = nullptr;
            left[i] = steps[i] = 1;
            if (n < P.columns) {
                const int row = x_row_of(x, t, n < t.columns ? n : t.columns - 1);
                next[i] = of_columns + row * std::int64_t{of_k} + first;
            } else if (n < all) {
                const int r = n - P.columns, half = rows_of_tile<P> / 2;
                const bool of_up = t.pairs && r >= half;
                const int wanted = of_up ? r - half : r;
                const int row = t.first_row + (wanted < t.rows ? wanted : t.rows - 1);
                const float* scales = of_up ? t.member->up_scale : t.member->weight_scale;
                if (scales != nullptr) {
                    next[i] = scales + scale_index(*t.member, t.expert, row, part.first);
                    steps[i] = t.member->scale_values / fp8_values;
                    left[i] = steps[i] - first % steps[i];
                }
                CATENA_NO_UNROLL
                for (int stage = 0; scales == nullptr && stage < P.stages; ++stage)
                    x.store(of_stage(ring + stage * stage_bytes_of<P, W>) + n, real{1});
            }
            if (next[i] != nullptr) bytes += warp_size * 4;
        }
    }

    /// Starts the copies of the next step to its stage.
    template <class X, class Stream>
    CATENA_FN void copy(X& x, Stream& stream, std::byte* stage) {
        CATENA_UNROLL
        for (int i = 0; i < own; ++i) {
            const int n = i * P.threads + x.thread();
            stream.copy_own(of_stage(stage) + (n < P.columns ? place_of(n) : n), next[i],
                            next[i] != nullptr ? 4 : 0);
            if (--left[i] > 0) continue;
            left[i] = steps[i];
            if (next[i] != nullptr) ++next[i];
        }
    }

    CATENA_FN static float* of_stage(std::byte* stage) {
        return reinterpret_cast<float*>(stage + weight_bytes<P, W> +
                                        P.columns * warpgroup_row_bytes);
    }

  private:
    /// A lane's four columns of two mma lie next to each other.
    CATENA_FN static int place_of(int column) {
        return column / 16 * 16 + column % 8 / 2 * 4 + column / 8 % 2 * 2 + column % 2;
    }
};

template <matmul_policy P, format_set W>
struct warpgroup_step<P, format::fp8_e4m3, W> {
    static constexpr int fragments = P.rows / mma_rows;

    warpgroup_rows<P, format::fp8_e4m3> rows;
    warpgroup_columns<P, format::fp8_group> columns;
    warpgroup_scales<P, W> scales;
    real part[1][P.columns / mma_columns][4];  ///< products of a step, 64 rows

    template <class X, class Block>
    CATENA_FN warpgroup_step(X& x, const matmul_args& a, const matmul_tile& t, part_of_k part,
                             Block& b)
        : rows(x, a, t, part), columns(x, a, t, part), scales(x, a, t, part, b.ring) {}

    template <class X, class Block>
    CATENA_FN void fill(X& x, Block& b, int) {
        std::byte* to = stage_at(b, b.fill);
        b.stream.begin(b.fill, P.rows * warpgroup_row_bytes + columns.bytes + scales.bytes);
        rows.copy(x, b.stream, to, warpgroup_row_bytes);
        columns.copy(x, b.stream, to + weight_bytes<P, W>);
        scales.copy(x, b.stream, to);
        b.stream.commit(b.fill);
    }

    template <class X, class Block>
    CATENA_FN void prepare(X&, Block& b, int, int stage) const {
        b.stream.wait(stage);
    }

    template <class X, class Block>
    CATENA_FN void multiply(X& x, Block& b, int, tile_sums<P>&) {
        start(x, stage_at(b, b.read), 0);
    }

    template <class X, class Block>
    CATENA_FN void finish(X& x, Block& b, int step, tile_sums<P>& sum) {
        if (step < 0) return;
        std::byte* stage = stage_at(b, b.read);
        CATENA_UNROLL
        for (int m = 0; m < fragments; ++m) {
            if (m > 0) start(x, stage, m);
            x.template wgmma_wait<0>(part);
            take_over(x, stage, m, sum[m]);
        }
    }

  private:
    template <class Block>
    CATENA_FN static std::byte* stage_at(const Block& b, int i) {
        return b.ring + i * stage_bytes_of<P, W>;
    }

    /// Starts the products of 64 rows.
    template <class X>
    CATENA_FN void start(X& x, const std::byte* stage, int m) {
        const exec::wgmma_operand a = x.operand_at(
            stage + (x.warp() / 4 * fragments + m) * warpgroup_fragment_bytes, exec::swizzle_bytes);
        const exec::wgmma_operand b = x.operand_at(stage + weight_bytes<P, W>, exec::swizzle_bytes);
        x.wgmma_fence();
        x.template wgmma<format::fp8_e4m3, false>(part[0], a, b);
        CATENA_UNROLL
        for (int at = wgmma_bytes; at < warpgroup_row_bytes; at += wgmma_bytes)
            x.template wgmma<format::fp8_e4m3>(part[0], a + at, b + at);
        x.wgmma_commit();
    }

    /// sum += part * (scale of the row * scale of the column)
    template <class X>
    CATENA_FN void take_over(X& x, std::byte* stage, int m,
                             real (&sum)[P.columns / mma_columns][4]) const {
        const float* of_stage = scales.of_stage(stage);
        const float* of_rows =
            of_stage + P.columns + x.warp() * P.rows + m * mma_rows + x.lane() / 4;
        const real of_row[2] = {x.load(of_rows), x.load(of_rows + 8)};
        CATENA_UNROLL
        for (int n = 0; n < P.columns / mma_columns; n += 2) {
            const word4 word = x.load16(of_stage + n * mma_columns + x.lane() % 4 * 4);
            const real of_column[2][2] = {{from_bits(word.x), from_bits(word.y)},
                                          {from_bits(word.z), from_bits(word.w)}};
            CATENA_UNROLL
            for (int j = 0; j < 2; ++j) {
                CATENA_UNROLL
                for (int i = 0; i < 4; ++i)
                    sum[n + j][i] =
                        fma(part[0][n + j][i], of_row[i / 2] * of_column[j][i % 2], sum[n + j][i]);
            }
        }
    }
};

}  // namespace CATENA_NAMESPACE::kernel
