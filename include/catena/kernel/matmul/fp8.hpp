// The product of fp8 weights with an fp8 activation, m16n8k32 of e4m3. Every 128 values of K have a
// scale of the activation and one of the weights; so many products are added by tensor cores, whose
// accumulators may be short, then f32 takes over: sum += part * (scale of the row * scale of the
// column), group after group in the sequence of K.
//
// Scales lie apart from their data, so they do not come with the copies: a lane loads some when a
// stage begins to be filled, and stores them behind their blocks when the warp has multiplied
// another.
#pragma once

#include "catena/kernel/matmul/multiply.hpp"

namespace CATENA_NAMESPACE::kernel {

template <matmul_policy P, format F, format_set W>
struct stage_product<P, format::fp8_group, F, W> {
    static_assert(F == format::fp8_e4m3, "fp8 is multiplied with fp8");
    static constexpr int fragments = P.rows / mma_rows;
    static constexpr int steps = fp8_values / 32;        ///< mma for a group
    static constexpr int groups = P.piece / fp8_values;  ///< groups in a stage of weights
    static_assert(weight_room<P, W> >= P.piece + groups * 4, "scales fit behind a row");

    template <class X>
    CATENA_FN stage_product(X&, const matmul_args& a, const matmul_tile& t,
                            const weight_rows_of_warp<P, F>& weights)
        : a_(a), t_(t), weights_(weights) {}

    template <class X>
    CATENA_FN void ask(X& x, int value) {
        const auto* scales = reinterpret_cast<const float*>(static_cast<const std::byte*>(a_.x) +
                                                            a_.x_rows * a_.x_bytes);
        const int of_k = a_.k / fp8_values;
        each_block(x, [&](int i, int column, int block) {
            const int group = value / fp8_values + block;
            if (column >= copied_columns<format::fp8_group>(t_) || group >= of_k) return;
            const int row = x_row_of(x, t_, column < t_.columns ? column : t_.columns - 1);
            of_columns_[i] = x.load(scales + row * std::int64_t{of_k} + group);
        });
        each_row(x, [&](int i, int r) {
            const float* own = of_up(r) ? t_.member->up_scale : t_.member->weight_scale;
            const int half = of_up(r) ? weights_.half : 0;
            const int wanted = weights_.first + weights_.row + r - half;
            const int row = wanted < weights_.last ? wanted : weights_.last;
            CATENA_UNROLL
            for (int g = 0; g < groups; ++g) {
                const int first = weights_.value_of(value) + g * fp8_values;
                of_rows_[i][g] = real{1};  // where they have none
                if (own != nullptr && first < a_.k)
                    of_rows_[i][g] = x.load(own + scale_index(*t_.member, t_.expert, row, first));
            }
        });
    }
    template <class X>
    CATENA_FN void put(X& x, std::byte* own_rows, std::byte* columns) {
        each_block(x, [&](int i, int column, int block) {
            x.store(scale_behind(columns + (block * P.columns + column) * mmq_bytes + fp8_values),
                    of_columns_[i]);
        });
        each_row(x, [&](int i, int r) {
            CATENA_UNROLL
            for (int g = 0; g < groups; ++g)
                x.store(scale_behind(own_rows + r * weight_room<P, W> + P.piece) + g,
                        of_rows_[i][g]);
        });
    }

    template <class X, class Stream>
    CATENA_FN static void arrived(X&, Stream&, const matmul_tile&, std::byte*, int) {}

    template <class X>
    CATENA_FN static void add(X& x, const matmul_tile& t, const weight_rows_of_warp<P, F>& weights,
                              std::byte* own_rows, std::byte* columns, int value,
                              const unpacked_rows&, tile_sums<P>& sum) {
        const int left = weights.k - value < P.piece ? weights.k - value : P.piece;
        CATENA_NO_UNROLL
        for (int g = 0; g * fp8_values < left; ++g) {
            const std::byte* rows = own_rows + g * fp8_values;
            unsigned a[fragments][steps][4];
            real of_row[fragments][2];
            CATENA_UNROLL
            for (int m = 0; m < fragments; ++m) {
                CATENA_UNROLL
                for (int step = 0; step < steps; ++step)
                    x.load_matrices(a[m][step], [rows, m, step](int lane) {
                        return rows + (m * mma_rows + lane % 16) * weight_room<P, W> + step * 32 +
                               lane / 16 * 16;
                    });
                CATENA_UNROLL
                for (int i = 0; i < 2; ++i) {
                    const int r = m * mma_rows + i * 8 + x.lane() / 4;
                    of_row[m][i] =
                        x.load(scale_behind(own_rows + r * weight_room<P, W> + P.piece) + g);
                }
            }
            CATENA_UNROLL
            for (int n = 0; n < P.columns / mma_columns; ++n) {
                if (n > 0 && n * mma_columns >= t.columns) continue;
                std::byte* of_tile = columns + (g * P.columns + n * mma_columns) * mmq_bytes;
                unsigned b[steps / 2][4];
                CATENA_UNROLL
                for (int pair = 0; pair < steps / 2; ++pair)
                    x.load_matrices(b[pair], [of_tile, pair](int lane) {
                        return of_tile + lane % 8 * mmq_bytes + pair * 64 + lane / 8 * 16;
                    });
                const float* scale =
                    scale_behind(of_tile + x.lane() % 4 * 2 * mmq_bytes + fp8_values);
                const real of_column[2] = {x.load(scale), x.load(scale + mmq_bytes / 4)};
                CATENA_UNROLL
                for (int m = 0; m < fragments; ++m) {
                    real part[4] = {real{0}, real{0}, real{0}, real{0}};
                    CATENA_UNROLL
                    for (int step = 0; step < steps; ++step) {
                        const unsigned(&of)[4] = b[step / 2];
                        x.template mma<F>(part, a[m][step],
                                          {of[step % 2 * 2], of[step % 2 * 2 + 1]});
                    }
                    CATENA_UNROLL
                    for (int i = 0; i < 4; ++i)
                        sum[m][n][i] =
                            fma(part[i], of_row[m][i / 2] * of_column[i % 2], sum[m][n][i]);
                }
            }
        }
    }

  private:
    static constexpr int share = P.columns * warp_size / P.threads;          ///< columns of a warp
    static constexpr int blocks = share * step_of_tile<P, W> / fp8_values;   ///< groups of a warp
    static constexpr int own_blocks = (blocks + warp_size - 1) / warp_size;  ///< groups of a lane
    static constexpr int own_rows = (P.rows + warp_size - 1) / warp_size;
    const matmul_args& a_;
    const matmul_tile& t_;
    const weight_rows_of_warp<P, F>& weights_;
    real of_columns_[own_blocks] = {}, of_rows_[own_rows][groups] = {};

    CATENA_FN static float* scale_behind(std::byte* data) { return reinterpret_cast<float*>(data); }

    /// Calls visit(i, column, block) for the lane's part of a stage's columns.
    template <class X, class Visit>
    CATENA_FN static void each_block(X& x, const Visit& visit) {
        CATENA_UNROLL
        for (int i = 0; i < own_blocks; ++i) {
            const int n = i * warp_size + x.lane();
            if (n < blocks) visit(i, x.warp() * share + n % share, n / share);
        }
    }
    /// Calls visit(i, r) for the lane's part of the warp's rows.
    template <class X, class Visit>
    CATENA_FN static void each_row(X& x, const Visit& visit) {
        CATENA_UNROLL
        for (int i = 0; i < own_rows; ++i) {
            const int r = i * warp_size + x.lane();
            if (r < P.rows) visit(i, r);
        }
    }
    /// Is row r of the warp one of `up`?
    CATENA_FN bool of_up(int r) const { return t_.pairs && weights_.row + r >= weights_.half; }
};

}  // namespace CATENA_NAMESPACE::kernel
