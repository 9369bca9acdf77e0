// The matmul skeleton: any number of columns against a group of weight matrices that read the same
// activation, on tensor cores.
//
// A block computes a tile: rows of one member times P.columns columns. Each warp owns P.rows of the
// rows and multiplies them with every column, so that a weight is unpacked once for all of them. K
// passes in steps of P.piece values through a ring of stages: weights as they lie in their tensor,
// which each warp copies and unpacks for itself, and the activation, of which each warp copies a
// share for all. One block barrier a step says that a stage is complete, and that the one before it
// may be filled again.
//
// For experts a block computes the rows of one matrix for all columns that picked it, so that every
// matrix is read once: it counts the ids and goes through the columns tile by tile.
//
// Where a grid has few tiles, warps share rows and take a piece of K each at every step
// (P.slices); their sums are added up in the sequence of the warps, in shared memory.
//
// Where warpgroups have few tiles, the blocks of a cluster share one (P.cluster), each with a part
// of K; the first adds up their sums in the order of K and finishes the tile.
//
// A product adds the groups of its row, or of its slice, in the sequence of K; which block, warp or
// lane does so changes nothing: all policies of as many slices and the same piece give the same
// bits, and without slices all do.
#pragma once

#include "catena/exec/real.hpp"
#include "catena/kernel/format_list.hpp"
#include "catena/kernel/matmul/decoded.hpp"
#include "catena/kernel/matmul/experts.hpp"
#include "catena/kernel/matmul/fill.hpp"
#include "catena/kernel/matmul/finish.hpp"
#include "catena/kernel/matmul/float_weights.hpp"
#include "catena/kernel/matmul/fp8.hpp"
#include "catena/kernel/matmul/fp8_wgmma.hpp"
#include "catena/kernel/matmul/multiply.hpp"
#include "catena/kernel/matmul/tile.hpp"
#include "catena/kernel/matmul/wgmma.hpp"
#include "catena/kernel/objection/matmul.hpp"
#include "catena/kernel/unpack/all.hpp"

namespace CATENA_NAMESPACE::kernel {

template <matmul_policy P>
inline constexpr bool warpgroups_of = by_warpgroups(P);

/// The state of a block that goes from tile to tile: the rings go on where the last tile left them.
template <class Stream>
struct matmul_block {
    Stream& stream;
    std::byte* ring;
    unpacked_rows unpacked;  ///< the warp's
    int fill = 0, read = 0;  ///< stages that come next
};

/// The products of one tile, where finish_tile reads them. All threads of the block.
template <matmul_policy P, format L, format F, format_set W, class X, class Block>
CATENA_FN void multiply_tile(X& x, const matmul_args& a, const matmul_tile& t, Block& b) {
    constexpr int room = weight_room<P, W>, stage_bytes = stage_bytes_of<P, W>;
    /// Bytes of the columns of one slice.
    constexpr int columns_bytes =
        P.piece / column_block_values<P, W> * P.columns * column_block_bytes<P, W>;
    const auto weights = weight_rows_of_warp<P, F>::of(x, a, t);
    stage_product<P, L, F, W> product(x, a, t, weights);
    constexpr int step_values = step_of_tile<P, W>;
    const int steps = (a.k + step_values - 1) / step_values;
    const int own_rows = x.warp() * P.rows * room;
    const auto next = [](int stage) { return stage + 1 < P.stages ? stage + 1 : 0; };
    const auto fill = [&](int step) {
        fill_stage<P, L, F, W>(x, b.stream, a, t, weights, b.ring + b.fill * stage_bytes, b.fill,
                               step * step_values);
        b.fill = next(b.fill);
    };
    tile_sums<P> sum;
    clear<P>(sum);

    // Fills run ahead of reads by all stages but one: the one that others may still read. So the
    // first steps only fill.
    constexpr int ahead = P.stages - 1;
    b.stream.reuse();
    CATENA_NO_UNROLL
    for (int step = -ahead; step < steps; ++step) {
        std::byte* stage = b.ring + b.read * stage_bytes;
        std::byte* columns = stage + weight_bytes<P, W>;
        if (step >= 0) {
            b.stream.wait(b.read);
            product.arrived(x, b.stream, t, columns, a.k - step * step_values);
            x.sync();
        }
        const bool fills = step + ahead < steps;
        std::byte* filled = b.ring + b.fill * stage_bytes;
        if (fills) {
            fill(step + ahead);
            product.ask(x, (step + ahead) * step_values);
        }
        if (step >= 0) {
            product.add(x, t, weights, stage + own_rows, columns + weights.slice * columns_bytes,
                        weights.value_of(step * step_values), b.unpacked, sum);
            b.stream.release(b.read);
            b.read = next(b.read);
        }
        if (fills) product.put(x, filled + own_rows, filled + weight_bytes<P, W>);
    }
    x.sync();
    share_sums<P>(x, t, sum, weights.row,
                  reinterpret_cast<float*>(b.ring) + weights.slice * finished_of_slice<P>);
    x.sync();
}

/// Adds up what the blocks of a cluster have of a tile, in the order of K, in the first of them.
template <matmul_policy P, class X>
CATENA_FN void add_parts(X& x, tile_sums<P>& sum, float* room) {
    constexpr int sums = P.rows * P.columns / warp_size;  // of a thread
    if (x.cluster_blocks() == 1) return;
    const auto each = [&](int part, auto&& visit) {
        float* own = room + (part - 1) * sums * P.threads + x.thread();
        CATENA_UNROLL
        for (int m = 0; m < P.rows / mma_rows; ++m) {
            CATENA_UNROLL
            for (int n = 0; n < P.columns / mma_columns; ++n) {
                CATENA_UNROLL
                for (int i = 0; i < 4; ++i)
                    visit(own + ((m * (P.columns / mma_columns) + n) * 4 + i) * P.threads,
                          sum[m][n][i]);
            }
        }
    };
    // The others store where the first block's stages were: what it has read of them and what came
    // there is ordered before.
    x.cluster_sync();
    if (x.cluster_rank() != 0)
        each(x.cluster_rank(), [&](float* to, real& v) { x.store_first(to, v); });
    x.cluster_sync();
    if (x.cluster_rank() != 0) return;
    CATENA_NO_UNROLL
    for (int part = 1; part < x.cluster_blocks(); ++part)
        each(part, [&](const float* from, real& v) { v = v + x.load(from); });
}

/// The same by warpgroups, the block's part of K.
template <matmul_policy P, format F, format_set W, class X, class Block>
CATENA_FN void multiply_tile_by_warpgroups(X& x, const matmul_args& a, const matmul_tile& t,
                                           Block& b) {
    constexpr int ahead = P.stages - 1, step_values = step_of_tile<P, W>;
    const part_of_k part = part_of_k::of<P>(x, a.k);
    warpgroup_step<P, F, W> product(x, a, t, part, b);
    const int steps = (part.values + step_values - 1) / step_values;
    const auto next = [](int stage) { return stage + 1 < P.stages ? stage + 1 : 0; };
    tile_sums<P> sum;
    clear<P>(sum);

    // The first steps only fill, and the last of them prepares. The fence of what is multiplied
    // next stands before the copies of a later step, which it might wait for.
    CATENA_NO_UNROLL
    for (int step = -ahead; step < steps; ++step) {
        if (step >= 0) {
            x.sync();
            product.multiply(x, b, step, sum);
        }
        if (step >= -1 && step + 1 < steps) {
            product.prepare(x, b, step + 1, step < 0 ? b.read : next(b.read));
            x.async_fence();
        }
        if (step + ahead < steps) {
            product.fill(x, b, step + ahead);
            b.fill = next(b.fill);
        }
        product.finish(x, b, step, sum);
        if (step < 0) continue;
        b.stream.release(b.read);
        b.read = next(b.read);
    }
    if constexpr (P.cluster > 1) add_parts<P>(x, sum, reinterpret_cast<float*>(b.ring));
    x.sync();
    share_sums<P>(x, t, sum, x.warp() * P.rows, reinterpret_cast<float*>(b.ring));
    x.sync();
}

template <matmul_policy P, format L, format_set W>
inline constexpr bool matmul_possible = !objection_to(matmul_of(L, W), P);

/// The body. Grid: row tiles of all members times column tiles (dense) or experts; column tiles are
/// the faster, so that blocks that read the same weights run together. Shared memory as
/// kernel/layout.hpp says. `a` follows args.hpp; x is in layout L, every member's format in W, k a
/// multiple of every member's block, and of 32 for float weights.
template <class X, matmul_policy P, format L, format_set W>
CATENA_FN void matmul_body(X& x, const matmul_args& a) {
    static_assert(matmul_possible<P, L, W>,
                  "kernel/objection/matmul.hpp says why no matmul can be so");

    x.grid_trigger();
    std::byte* ring = x.template shared<std::byte>(ring_bytes<P, W>);
    std::byte* unpacked = x.template shared<std::byte>(x.warps() * warp_unpacked_bytes<P, W>) +
                          x.warp() * warp_unpacked_bytes<P, W>;
    column_lists lists{.column = x.template shared<int>(P.columns),
                       .x_row = x.template shared<int>(P.columns),
                       .warp_total = x.template shared<int>(x.warps())};
    auto stream = x.template stream<P.copy, P.stages>();
    x.grid_wait();

    matmul_block<decltype(stream)> b{
        .stream = stream,
        .ring = ring,
        .unpacked = {unpacked, unpacked + P.rows * unpacked_row_bytes}};
    const bool dense = !has_experts(a);
    const int column_tiles = dense ? (a.columns + P.columns - 1) / P.columns : 1;
    constexpr bool shares = P.cluster > 1;  // the blocks of a cluster have a tile, dense
    const int tile = shares ? x.cluster() : x.block();
    const int row_tile = dense ? tile / column_tiles : tile % a.tiles;
    const int expert = dense ? 0 : tile / a.tiles;
    matmul_tile t = tile_at<P>(a, row_tile, expert);
    if (dense)
        t.first_column = tile % column_tiles * P.columns;
    else if (a.ids == nullptr)  // matrices are the tokens' in turns
        t.first_column = expert * a.slots, t.expert = expert % t.member->experts;

    // A dense block has one tile of columns, an expert's block any number; the first one's also
    // answers for the ids of no expert.
    int matrix = expert;
    CATENA_NO_UNROLL
    for (column_source columns = column_source::of(x, a, expert, lists);;) {
        if (!columns.list(x, a, t, P.columns, lists)) {
            if (dense || expert != 0 || matrix == no_expert) return;
            matrix = no_expert;
            t.first_column = 0;
            columns = column_source::of(x, a, matrix, lists);
            continue;
        }
        const bool there = matrix != no_expert && (dense || t.expert < t.member->experts);
        if (there)
            format_list<W>::visit(t.member->type, [&]<format F> {
                if constexpr (warpgroups_of<P>)
                    multiply_tile_by_warpgroups<P, F, W>(x, a, t, b);
                else
                    multiply_tile<P, L, F, W>(x, a, t, b);
            });
        if (shares && x.cluster_rank() != 0) return;
        finish_tile<P>(x, a, t, there, reinterpret_cast<float*>(ring));
        if (dense) return;
        t.first_column += P.columns;
        x.sync();
    }
}

}  // namespace CATENA_NAMESPACE::kernel
