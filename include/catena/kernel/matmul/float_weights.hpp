// The product of float weights, f32, f16 or bf16, on floating-point tensor cores. The
// activation comes as f32; each warp rounds its share of a stage's columns to the weights' type,
// where it lies, before the others read it: f32 to tf32, and so its weights. An mma takes 32 bytes
// of K of 16 rows and 8 columns, whatever the type, so fragments are loaded by one code. Sums are
// f32, in the sequence of K.
#pragma once

#include "catena/kernel/matmul/multiply.hpp"
#include "catena/kernel/quantize.hpp"

namespace CATENA_NAMESPACE::kernel {

inline constexpr int mma_bytes = 32;  ///< bytes of K that one mma multiplies

template <matmul_policy P, format F, format_set W>
struct stage_product<P, format::f32, F, W> : nothing_apart {
    using nothing_apart::nothing_apart;
    static constexpr int quads = P.piece / quad;  ///< quads of a column in a stage
    static constexpr int share = P.columns * warp_size / P.threads;
    static constexpr int own = share * quads / warp_size;  ///< quads that a lane rounds
    static constexpr int room = column_block_bytes<P, W>;
    static_assert(share * quads % warp_size == 0,
                  "the quads of a warp's columns go to all its lanes");

    template <class X, class Stream>
    CATENA_FN static void arrived(X& x, Stream& stream, const matmul_tile& t, std::byte* columns,
                                  int values) {
        const int first = x.warp() * share, copied = copied_columns<format::f32>(t);
        CATENA_NO_UNROLL
        for (int slice = 0; slice < slices_of_tile<P>; ++slice) {
            const auto there = [&](int column, int at) {
                return first + column < copied && slice * P.piece + at * quad < values;
            };
            const auto column_at = [&](int column) {
                return columns + (slice * P.columns + first + column) * room;
            };
            word4 v[own];
            CATENA_UNROLL
            for (int i = 0; i < own; ++i) {
                const int n = i * warp_size + x.lane(), column = n / quads, at = n % quads;
                v[i] =
                    there(column, at) ? x.load16(column_at(column) + at * 16) : word4{0, 0, 0, 0};
            }
            x.sync_warp();
            CATENA_UNROLL
            for (int i = 0; i < own; ++i) {
                const int n = i * warp_size + x.lane(), column = n / quads, at = n % quads;
                if (there(column, at)) store_rounded(x, column_at(column), at, v[i]);
            }
        }
        stream.reuse();
    }

    template <class X>
    CATENA_FN static void add(X& x, const matmul_tile& t, const weight_rows_of_warp<P, F>& weights,
                              const std::byte* own_rows, const std::byte* columns, int value,
                              const unpacked_rows&, tile_sums<P>& sum) {
        constexpr int steps = group_values * block_bytes<F> / mma_bytes;  // of a group
        constexpr int fragments = P.rows / mma_rows;
        const int values = weights.k - value < P.piece ? weights.k - value : P.piece;
        const std::byte* end = own_rows + values * block_bytes<F>;
        CATENA_NO_UNROLL
        while (own_rows < end) {
            CATENA_UNROLL
            for (int step = 0; step < steps; ++step) {
                unsigned a[fragments][4], b[4];
                CATENA_UNROLL
                for (int m = 0; m < fragments; ++m) load_rows(x, own_rows, m, a[m]);
                CATENA_UNROLL
                for (int n = 0; n < P.columns / mma_columns; n += 2) {
                    if (n > 0 && n * mma_columns >= t.columns) continue;
                    x.load_matrices(b, [columns, n](int lane) {
                        const int column = n * mma_columns + lane / 16 * 8 + lane % 8;
                        return columns + column * room + lane / 8 % 2 * 16;
                    });
                    CATENA_UNROLL
                    for (int m = 0; m < fragments; ++m) {
                        x.template mma<F>(sum[m][n], a[m], {b[0], b[1]});
                        x.template mma<F>(sum[m][n + 1], a[m], {b[2], b[3]});
                    }
                }
                own_rows += mma_bytes;
                columns += mma_bytes;
            }
        }
    }

  private:
    /// Rows 16 m .. 16 m + 15, from `rows` on, in the type that is multiplied.
    template <class X>
    CATENA_FN static void load_rows(X& x, const std::byte* rows, int m, unsigned (&a)[4]) {
        x.load_matrices(a, [rows, m](int lane) {
            return rows + (m * mma_rows + lane % 16) * weight_room<P, W> + lane / 16 * 16;
        });
        if constexpr (F == format::f32) {
            CATENA_UNROLL
            for (int i = 0; i < 4; ++i) a[i] = to_tf32(from_bits(a[i]));
        }
    }

    /// Four values of a column whose rounded ones begin at `column`.
    template <class X>
    CATENA_FN static void store_rounded(X& x, std::byte* column, int at, const word4& v) {
        const real in[quad] = {from_bits(v.x), from_bits(v.y), from_bits(v.z), from_bits(v.w)};
        if constexpr (F == format::f32)
            x.store16(column + at * 16,
                      word4{to_tf32(in[0]), to_tf32(in[1]), to_tf32(in[2]), to_tf32(in[3])});
        else
            x.store(reinterpret_cast<std::uint64_t*>(column + at * 8), rounded_quad<F>(in));
    }
};

}  // namespace CATENA_NAMESPACE::kernel
