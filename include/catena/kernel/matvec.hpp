// The matvec skeleton: 1 to 8 columns against a group of weight matrices that read the same
// activation. It is bound by memory: every warp streams its weight rows through stages of its own,
// so that bytes are in flight before the activation exists and while the lanes multiply.
//
// Work is dealt in bands: a block owns `band_rows` rows of one member, or its share of them in a
// cluster; its warps take `P.rows` rows at a time in turn; of a GLU's two matrices, half as many each.
// A stage holds the same piece of K of those rows. How a piece is multiplied, and in which order, is
// the inner product's alone (kernel/product.hpp): rows, columns, pieces, stages and copy methods do
// not change it. Then each lane finishes its results (kernel/epilogue.hpp).
#pragma once

#include "catena/exec/real.hpp"
#include "catena/kernel/args.hpp"
#include "catena/kernel/dot.hpp"
#include "catena/kernel/epilogue.hpp"
#include "catena/kernel/format_list.hpp"
#include "catena/kernel/fragment.hpp"
#include "catena/kernel/numbers.hpp"
#include "catena/kernel/placement.hpp"
#include "catena/kernel/unpack/all.hpp"
#include "catena/kernel/walk.hpp"

namespace catena::kernel {

/// Bytes of 32 values of an activation row.
template <policy P>
inline constexpr int group_bytes = P.product == inner_product::fma ? 32 * 4 : q8_1_bytes;

/// How the columns come to shared memory. The whole block waits for them, and for nothing else: so all
/// are on their way at once, by cp.async where that is not the weights' own.
template <policy P>
inline constexpr copy_method columns_by =
    P.copy == copy_method::bulk ? copy_method::async : copy_method::plain;

/// Copies the columns to shared memory, whole chunks of 16 bytes; padding makes up the last one.
template <policy P, class X, class Stream>
CATENA_FN void share_activation(X& x, Stream& stream, const matvec_columns& u, int k, std::byte* to,
                                int column) {
    constexpr int share = warp_size * chunk_bytes;  // of a warp, in turn
    const int bytes = (k / 32 * q8_1_bytes + chunk_bytes - 1) / chunk_bytes * chunk_bytes;
    const int first = x.warp() * share, on = x.warps() * share;
    int own = 0;
    for (int at = first; at < bytes; at += on) own += bytes - at < share ? bytes - at : share;
    const int columns = P.columns > 1 ? u.count : 1;
    stream.begin(0, columns * own);
    CATENA_NO_UNROLL
    for (int c = 0; c < columns; ++c) {
        CATENA_NO_UNROLL
        for (int of_warp = first; of_warp < bytes; of_warp += on) {
            const int at = of_warp + x.lane() * chunk_bytes;
            stream.copy_own(to + c * column + at, u.x + c * u.x_bytes + at,
                            at < bytes ? chunk_bytes : 0);
        }
    }
    stream.commit(0);
    stream.wait(0);
}

/// The band of a block, all its rows and columns. `stages` is the warp's. `Several`: the kernel has
/// more formats than this one. `own_columns`: a stream of one stage, which brings the columns.
template <policy P, format F, int Room, bool Several, class X, class Stream, class Columns>
CATENA_FN void multiply_band(X& x, const matvec_args& a, const matvec_band& b, matvec_columns u,
                             Stream& stream, Columns& own_columns, std::byte* stages,
                             std::byte* shared_x, int column_bytes) {
    using walk = matvec_walk<P, F>;
    const matvec_member& m = *b.member;
    const bool pairs = takes_pairs<P> && m.up != nullptr;
    const int warp_rows = pairs ? P.rows / 2 : P.rows, mine = x.lane() % P.rows;
    const auto* matrix = static_cast<const std::byte*>(mine < warp_rows ? m.weight : m.up);
    const tensor_bytes tensor{matrix, matrix + m.weight_bytes};

    const bool expert = m.experts > 0;
    const bool early = a.weights_early && !expert;
    if (!early) x.grid_wait();
    int id = 0;
    if (expert) {
        id = expert_of(x, a, b);
        u.x += distance(b.token * a.x_slots + (a.x_slots == 1 ? 0 : b.slot), a.x_bytes);
        if (!is_there(m, id)) id = 0;
        matrix += distance(id, m.expert_bytes);
    }
    walk fill{.matrix = matrix,
              .row_stride = m.row_bytes,
              .k = a.k,
              .row = b.first_row + x.warp() * warp_rows,
              .end_row = b.end_row,
              .rows_on = x.warps() * warp_rows,
              .mine = mine < warp_rows ? mine : mine - warp_rows,
              .value = 0,
              .at = nullptr};
    fill.start_group();
    walk read = fill;
    const auto after = [](int stage) { return stage + 1 < P.stages ? stage + 1 : 0; };
    constexpr bool shared = P.activation == activation_source::shared;
    const matvec_columns columns{shared ? shared_x : u.x, shared ? column_bytes : u.x_bytes,
                                 u.count};
    product<P, F> products;
    int filled = 0, stage = 0, next_stage = 0;
    CATENA_NO_UNROLL
    for (bool begun = false; !begun || !read.done();) {
        if (filled < P.stages && !fill.done()) {
            fill_stage<P, F, Room>(x, stream, stages, next_stage, tensor, fill);
            fill.next();
            next_stage = after(next_stage);
            ++filled;
            continue;
        }
        if (!begun) {  // the ring is full, and now the activation is there
            begun = true;
            if (early) x.grid_wait();
            if constexpr (P.placement != norm_placement::producer)
                make_activation<P>(x, a, u, shared_x, shared_norm<P>(shared_x, u.count, a.k));
            else if constexpr (shared)
                share_activation<P>(x, own_columns, u, a.k, shared_x, column_bytes);
            if constexpr (shared) x.sync();
            continue;
        }
        if (read.value == 0) products.clear();
        stream.wait(stage);
        products.template add<Room>(x,
                                    {.rows = stages + stage * (P.rows * Room),
                                     .offset = slice_offset<F>(read.at),
                                     .values = read.values(),
                                     .value = read.value,
                                     .row = read.row,
                                     .end_row = read.end_row,
                                     .expert = id,
                                     .pairs = pairs,
                                     .member = &m},
                                    {columns.x + read.value / group_values * group_bytes<P>,
                                     columns.x_bytes, columns.count});
        stream.release(stage);
        stage = after(stage);
        --filled;
        if (read.last_piece())
            products.results(x, pairs, [&](int row, int column, real v, real up) {
                row += read.row;
                if (row >= b.end_row || column >= b.columns) return;
                if constexpr (P.placement == norm_placement::deferred) {
                    const real factor =
                        x.load(shared_norm<P>(shared_x, u.count, a.k).factor + column);
                    v = v * factor, up = up * factor;
                }
                finish<Several>(x, a, b, row, column, v, up);
            });
        read.next();
    }
}

template <format_set W>
inline constexpr bool several = W.size() > 1;

/// Bytes of a stage that one weight row may take.
template <policy P, format_set W>
inline constexpr int slice_room = static_cast<int>(stage_bytes(P, W)) / P.rows;

/// The body. Grid: one block per band, times the columns for members whose matrix ids pick. Shared
/// memory as kernel/layout.hpp says. `a` follows args.hpp; a.columns <= P.columns when dense, every
/// member's format is in W, k is a multiple of every member's block.
template <class X, policy P, format_set W>
CATENA_FN void matvec_body(X& x, const matvec_args& a) {
    static_assert(P.threads % warp_size == 0 && P.threads > 0, "threads come in whole warps");
    static_assert(P.rows > 0 && P.columns > 0 && P.stages > 0,
                  "rows, columns and stages are at least 1");
    static_assert(P.piece > 0 && P.piece % piece_unit == 0, "a piece is a multiple of 256 values");
    constexpr int room = slice_room<P, W>, warp_room = P.stages * P.rows * room;

    x.grid_trigger();
    std::byte* stages = x.template shared<std::byte>(x.warps() * warp_room) + x.warp() * warp_room;
    std::byte* shared_x = nullptr;
    const int column_bytes = static_cast<int>(shared_column_bytes(a.k));
    if constexpr (P.activation == activation_source::shared) {
        const int columns = a.ids != nullptr ? 1 : a.columns;
        std::int64_t bytes = columns * column_bytes;
        if constexpr (P.placement != norm_placement::producer) bytes += norm_bytes(P, columns);
        shared_x = x.template shared<std::byte>(static_cast<int>(bytes));
    }
    auto stream = x.template stream<P.copy, P.stages>();
    auto own_columns = x.template stream<columns_by<P>, 1>();
    x.sync();

    const bool expert = a.ids != nullptr;
    constexpr bool shares = P.cluster > 1;  // a cluster has a band, 1, 2, 4 or 8 blocks
    static_assert(!shares || P.columns == 1, "results of one column meet in a cluster");
    const int owner = shares ? x.cluster() : x.block(), rank = shares ? x.cluster_rank() : 0;
    const int ranks = shares ? x.cluster_blocks() : 1;
    int column = expert ? quotient(owner, a.bands) : 0;
    if (column >= a.columns) column = a.columns - 1;  // of a dense member, behind all experts' bands
    const int band = owner - column * a.bands;
    int m = 0;
    CATENA_NO_UNROLL
    while (m + 1 < a.members && band >= a.member[m + 1].first_band) ++m;
    const matvec_member& member = a.member[m];
    const int token = member.experts > 0 ? quotient(column, a.slots) : 0;
    const int rows = band_results(a, member);
    const int share = rows >> ((ranks >> 1) - (ranks >> 3));
    const int first_row = (band - member.first_band) * rows + rank * share;
    const int left = member.rows - first_row;
    const matvec_columns u{static_cast<const std::byte*>(a.x), a.x_bytes, expert ? 1 : a.columns};
    matvec_band b{.member = &member,
                  .columns = u.count,
                  .first_row = first_row,
                  .end_row = first_row + (left < share ? left : share),
                  .token = token,
                  .slot = member.experts > 0 ? column - token * a.slots : 0,
                  .finished = nullptr};
    if (member.q8_1 != nullptr)
        b.finished = x.template shared<float>(b.columns * max_requantized_rows) + rank * share;
    format_list<W>::visit(member.type, [&]<format F> {
        multiply_band<P, F, room, several<W>>(x, a, b, u, stream, own_columns, stages, shared_x,
                                              column_bytes);
    });
    if (member.q8_1 != nullptr) quantize_band<shares>(x, a, b);
}

}  // namespace catena::kernel
