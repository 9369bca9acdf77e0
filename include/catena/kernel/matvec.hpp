// The matvec skeleton: 1 to 8 columns against a group of weight matrices that read the same
// activation. It is bound by memory: every warp streams its weight rows through stages of its own,
// so that bytes are in flight before the activation exists and while the lanes multiply.
//
// Work is dealt in bands: a block owns `band_rows` rows of one member, or its share of them in a
// cluster; its warps take `P.rows` rows at a time in turn; of a GLU's two matrices, half as many
// each. Where a token's slots are added up, the rows of all slots' matrices are dealt so, one slot
// after the other. A stage holds the same piece of K of those rows. How a piece is multiplied, and
// in which order, is the inner product's alone (kernel/product.hpp): rows, columns, pieces, stages
// and copy methods do not change it. Then each lane finishes its results (kernel/epilogue.hpp).
#pragma once

#include "catena/exec/real.hpp"
#include "catena/kernel/args.hpp"
#include "catena/kernel/dot.hpp"
#include "catena/kernel/epilogue.hpp"
#include "catena/kernel/float_weights.hpp"
#include "catena/kernel/format_list.hpp"
#include "catena/kernel/fragment.hpp"
#include "catena/kernel/objection/matvec.hpp"
#include "catena/kernel/phase.hpp"
#include "catena/kernel/placement.hpp"
#include "catena/kernel/route.hpp"
#include "catena/kernel/unpack/all.hpp"
#include "catena/kernel/walk.hpp"

#include <type_traits>

namespace CATENA_NAMESPACE::kernel {

/// Bytes of 32 values of an activation row, and the distance to the next 32 values of the column.
template <matvec_policy P>
inline constexpr int group_bytes = P.product == inner_product::fma ? 32 * 4 : q8_1_bytes;
template <matvec_policy P>
inline constexpr int group_step = odd_quads_behind<P> ? group_bytes<P> / 2 : group_bytes<P>;

/// Bytes from a column's even quads to its odd ones.
CATENA_FN int half_of_column(int k) { return k * 2; }

/// The copy method of columns to shared memory. The whole block waits for the columns and for
/// nothing else, so all of them are in flight at once: by cp.async if the weights arrive by bulk
/// copies.
template <matvec_policy P>
inline constexpr copy_method columns_by =
    P.copy == copy_method::bulk ? copy_method::async : copy_method::plain;

/// Does a launch that adds up slots copy each slot's column to shared memory by itself? Rows of f32
/// may have gaps. Rows of q8_1 have none, and are copied as one.
template <matvec_policy P>
inline constexpr bool copies_slots = (P.product == inner_product::fma) &&
                                     (P.activation == activation_source::shared) && combines<P>;

/// Waits for the columns and copies them to shared memory, whole chunks of 16 bytes; padding makes
/// up the last one. Before the last column of q8_1 are `before` bytes of other slots' columns. The
/// wait is a branch: ptxas leaves what need not wait in front of a branch, but moves it behind a
/// plain wait.
template <matvec_policy P, class X, class Stream>
CATENA_FN void share_activation(X& x, const matvec_args& a, Stream& stream, const matvec_columns& u,
                                int before, std::byte* to, int column) {
    constexpr int share = warp_size * chunk_bytes;  // of a warp, in turn
    const int bytes =
        before + (a.k / 32 * group_bytes<P> + chunk_bytes - 1) / chunk_bytes * chunk_bytes;
    const int first = x.warp() * share, on = x.warps() * share;
    int own = 0;
    for (int at = first; at < bytes; at += on) own += bytes - at < share ? bytes - at : share;
    const int columns = P.columns > 1 || copies_slots<P> ? u.count : 1;
    if (a.weights_early) x.grid_wait();
    reaches(x, phase::waited);
    stream.begin(0, columns * own);
    CATENA_NO_UNROLL
    for (int c = 0; c < columns; ++c) {
        CATENA_NO_UNROLL
        for (int of_warp = first; of_warp < bytes; of_warp += on) {
            const int at = of_warp + x.lane() * chunk_bytes;
            const int place =
                odd_quads_behind<P> ? at / 32 * 16 + at % 32 / 16 * half_of_column(a.k) : at;
            stream.copy_own(to + c * column + place, u.x + c * u.x_bytes + at,
                            at < bytes ? chunk_bytes : 0);
        }
    }
    stream.commit(0);
    stream.wait(0);
}

/// The columns of a band in global memory. If slots are added up, the column of the first slot.
CATENA_FN matvec_columns columns_of(const matvec_args& a, const matvec_band& b) {
    const int row = b.token * a.x_slots + (a.x_slots == 1 ? 0 : b.slot);
    return {static_cast<const std::byte*>(a.x) + distance(row, a.x_bytes), a.x_bytes, b.columns};
}

/// Bytes from one slot's column to the next, if slots are added up.
template <matvec_policy P>
CATENA_FN int slot_bytes(const matvec_args& a, int column_bytes) {
    if (a.x_slots == 1) return 0;
    return copies_slots<P> ? column_bytes : static_cast<int>(a.x_bytes);
}

/// Waits for the columns, and copies or makes them. Returns the place from which all warps read
/// them. Shared memory for columns and results is requested here, so no copy of weights waits for
/// that.
template <matvec_policy P, class X, class Columns>
CATENA_FN std::byte* take_columns(X& x, const matvec_args& a, matvec_band& b, Columns& own_columns,
                                  int column_bytes) {
    constexpr bool shared = P.activation == activation_source::shared;
    constexpr bool makes = P.placement == norm_placement::deferred;
    matvec_columns from = columns_of(a, b);
    if constexpr (copies_slots<P>) from.count = a.x_slots == 1 ? 1 : b.slots;
    const int before =
        combines<P> && !copies_slots<P> ? (b.slots - 1) * slot_bytes<P>(a, column_bytes) : 0;
    int bytes = shared ? before + from.count * column_bytes : 0;
    if constexpr (makes) bytes += static_cast<int>(norm_bytes(P, b.columns));
    std::byte* to = x.template shared<std::byte>(bytes);
    if (b.member->q8_1 != nullptr || (combines<P> && a.combined))
        b.finished = x.template shared<float>(b.columns * b.slots * max_finished_rows);
    if constexpr (P.placement != norm_placement::producer) prefetch_weight(x, a);
    if constexpr (makes || !shared) {
        if (a.weights_early) x.grid_wait();
        reaches(x, phase::waited);
    }
    if constexpr (makes)
        make_activation<P>(x, a, from, to, shared_norm<P>(to, b.columns, a.k));
    else if constexpr (shared)
        share_activation<P>(x, a, own_columns, from, before, to, column_bytes);
    if constexpr (shared) x.sync();
    reaches(x, phase::columns);
    return to;
}

/// Are a result's operands loaded before its last piece has arrived? Not in a launch that makes its
/// norm: with their registers only one block would fit an SM, not two.
template <matvec_policy P>
inline constexpr bool asks_first = P.placement == norm_placement::deferred ? false : one_result<P>;

/// Multiplies the band of a block, all its rows and columns. `stages` is the ring of the team.
/// `own_columns` is a stream of one stage, which brings the columns. `Several` says that the kernel
/// has more formats than this one.
///
/// In each turn a warp fills a stage and multiplies another one. Warps of a team multiply what all
/// of them have copied, so they meet when a stage has arrived. After that meeting every warp has
/// read the stage before.
template <matvec_policy P, format F, int Room, bool Several, class X, class Stream, class Columns>
CATENA_FN void multiply_band(X& x, const matvec_args& a, matvec_band& b, Stream& stream,
                             Columns& own_columns, std::byte* stages) {
    using walk = matvec_walk<P, F>;
    const matvec_member& m = *b.member;
    const bool pairs = takes_pairs<P> && m.up != nullptr;
    const int warp_rows = pairs ? P.rows / 2 : P.rows;
    // Warps that meet all follow the first team's rows; rows of another team lie behind those.
    constexpr bool splits = P.slices > 1;
    const int team_row = x.warp() / warp_slices(P) * warp_rows, behind = splits ? team_row : 0;
    const auto matrix_with = [&](int row) {  // a row of the group
        return static_cast<const std::byte*>(row < warp_rows ? m.weight : m.up);
    };
    const int mine = followed_row<P>(x);
    const std::byte* const matrix = matrix_with(mine);
    const tensor_bytes tensor{matrix, matrix + m.weight_bytes};
    const auto expert_of_slot = [&](int slot) {
        return combines<P> ? x.shuffle(b.picked, slot) : b.picked;
    };
    const auto there = [&](int slot) {  // the matrix that is read, whatever the id
        const int expert = expert_of_slot(slot);
        return expert > 0 ? expert : 0;
    };
    const auto matrix_of = [&](int slot) { return matrix + distance(there(slot), m.expert_bytes); };
    const auto turns = [](int rows) { return static_cast<unsigned>(rows) * walk::numbers; };
    const int rows = b.end_row - b.first_row;
    matvec_place<P> begin{.k = a.k,
                          .turn = turns(b.first_row + (splits ? 0 : team_row)),
                          .on = turns(warp_teams(P, x.warps()) * warp_rows),
                          .back = turns((rows + warp_rows - 1) / warp_rows * warp_rows) - 1,
                          .end_row = b.end_row,
                          .slots = b.slots,
                          .slice = splits ? x.warp() % warp_slices(P) : 0,
                          .left = a.k};
    begin.settle();
    const auto walk_of = [&](int row) {
        return walk{begin, m.row_bytes, behind + (row < warp_rows ? row : row - warp_rows), 0};
    };
    walk fill = walk_of(mine);
    if (!fill.done()) fill.start_group(matrix_of);
    slice_offsets<P, F> offsets;  // of a warp's own slices
    // What others bring a lane follows to know where its slices begin.
    const int other = x.lane() % P.rows;
    const auto matrix_of_other = [&](int slot) {
        return matrix_with(other) + distance(there(slot), m.expert_bytes);
    };
    std::conditional_t<splits, walk, matvec_place<P>> read = [&] {
        if constexpr (splits)
            return walk_of(other);
        else
            return begin;
    }();
    if constexpr (splits) read.start_group(matrix_of_other);
    constexpr bool shared = P.activation == activation_source::shared;
    constexpr bool passes = P.placement == norm_placement::passing;
    const auto column_bytes =
        static_cast<int>(shared_column_bytes(P.product, static_cast<unsigned>(a.k)));
    std::byte* shared_x = stages;  // not null: so it is known to be in shared memory
    product<P, F> products;
    products.clear();
    if (!a.weights_early) x.grid_wait();
    // Where the warp's piece begins in a column.
    const auto first_of_column = [&] {
        const int piece = read.slice * (P.piece / group_values * group_step<P>);
        return combines<P> ? piece + read.slot() * slot_bytes<P>(a, column_bytes) : piece;
    };
    const auto meet_at = [&](int stage) {  // all that the team has brought is there
        stream.wait(stage);
        x.sync();
    };
    int stage = 0, x_at = first_of_column();
    CATENA_NO_UNROLL
    for (int turn = 1 - P.stages; turn <= 0 || !read.done(); ++turn) {
        const int next = stage + 1 < P.stages ? stage + 1 : 0;
        if constexpr (splits)
            if (turn > 0) meet_at(next);
        if constexpr (!splits) offsets.push(fill.slice_begin());
        if (!fill.done()) {
            fill_stage<P, F, Room>(x, stream, stages, stage, tensor, fill);
            fill.next(matrix_of);
        }
        stage = next;
        if (turn < 0) continue;
        if (turn == 0) {  // the ring is full
            reaches(x, phase::filled);
            shared_x = take_columns<P>(x, a, b, own_columns, column_bytes);
            if (read.done()) break;
            if constexpr (splits) meet_at(stage);
        }
        asked_operands asked;
        const auto ask_own = [&] {
            b.expert = expert_of_slot(read.slot());
            if constexpr (one_result<P>) {
                const lane_place at = products.place(x, pairs);
                const int row = read.row() + at.row;
                if (at.finishes && row < b.end_row)
                    asked =
                        ask<takes_pairs<P>, combines<P>, P.routes>(x, a, b, row, 0, read.slot());
            }
        };
        if constexpr (asks_first<P>)
            if (read.last_piece()) ask_own();
        if constexpr (!splits) stream.wait(stage);
        if (turn == 0) reaches(x, phase::weights);
        std::byte* const arrived = stages + stage * (P.rows * Room);
        const matvec_columns columns =
            shared ? matvec_columns{shared_x, column_bytes, b.columns} : columns_of(a, b);
        products.template add<Room>(
            x,
            {.rows = arrived + read.slice * walk::piece_bytes,
             .offset =
                 [&] {
                     if constexpr (splits)
                         return whole_chunks<F> ? 0 : slice_offset<F>(read.slice_begin());
                     else
                         return offsets.oldest();
                 }(),
             .values = read.values(),
             .value = read.first(),
             .row = read.row(),
             .end_row = read.end_row,
             .expert = F == format::fp8_e4m3 ? there(read.slot()) : 0,
             .pairs = pairs,
             .member = &m,
             .norm_weight = passes ? a.norm_weight + read.first() : nullptr},
            {columns.x + x_at, columns.x_bytes, columns.count, half_of_column(a.k)});
        stream.release(stage);
        if (read.last_piece()) {
            reaches(x, phase::multiplied);
            if constexpr (!asks_first<P>) ask_own();
            const real weight = combines<P> ? x.shuffle(b.weight, read.slot()) : real{1};
            real factor{1};
            if constexpr (passes) factor = over_rms(products.sum_of_squares(x), a.k, a.eps);
            const auto finish_one = [&](int row, int column, real v, real up) {
                row += read.row() + behind;
                if (row >= b.end_row || column >= b.columns) return;
                if constexpr (P.placement == norm_placement::deferred)
                    factor = x.load(shared_norm<P>(shared_x, b.columns, a.k).factor + column);
                if constexpr (passes || P.placement == norm_placement::deferred)
                    v = v * factor, up = up * factor;
                if constexpr (!one_result<P>)
                    asked = ask<takes_pairs<P>, combines<P>, P.routes>(x, a, b, row, column,
                                                                       read.slot());
                finish<Several, takes_pairs<P>, combines<P>, P.routes>(
                    x, a, b, row, column, read.slot(), weight, asked, v, up);
            };
            if constexpr (splits) {
                products.results_of_team(x, pairs, reinterpret_cast<float*>(arrived), finish_one);
                stream.reuse();
            } else {
                products.results(x, pairs, finish_one);
            }
            products.clear();
        }
        const bool last = read.last_piece();
        if constexpr (splits)
            read.next(matrix_of_other);
        else
            read.next();
        if (last)
            x_at = first_of_column();
        else
            x_at += matvec_place<P>::turn_values / group_values * group_step<P>;
    }
}

template <format_set W>
inline constexpr bool several = W.size() > 1;
template <format_set W>
inline constexpr format first_format = *W.begin();

/// Bytes of a stage that one weight row may take.
template <matvec_policy P, format_set W>
inline constexpr int slice_room = static_cast<int>(stage_bytes(P, W)) / P.rows;

/// Finds the token and the slot of a band of experts, and the matrix that the slot's id picks. It
/// waits for the ids, or for the logits of experts. Returns the band's number among the bands of
/// one slot; bands of dense members stand behind those of all slots. `ring` is the memory of the
/// ring, which may be written until the ring is filled.
template <matvec_policy P, class X>
CATENA_FN int take_slot(X& x, const matvec_args& a, matvec_band& b, int band, std::byte* ring) {
    const bool combined = combines<P> && a.combined;
    const int slots = combined ? 1 : a.slots, bands = slots * a.bands;  // of a token
    int token = 0, slot = 0;  // few: a division is more code, and takes as long
    if (a.ids == nullptr) {   // tokens may be many
        token = static_cast<int>(static_cast<unsigned>(band) / static_cast<unsigned>(bands));
        band -= token * bands;
    }
    CATENA_NO_UNROLL
    for (int left = a.columns - slots; left > 0 && band >= bands; left -= slots, ++token)
        band -= bands;
    CATENA_NO_UNROLL
    for (; slot + 1 < slots && band >= a.bands; ++slot) band -= a.bands;
    if (band >= a.bands) return band;
    b.token = token;
    b.slot = slot;
    if (a.ids != nullptr) x.grid_wait();
    if constexpr (P.routes) {
        b.picked = route_work<X, routed_by_thread>(x, a.routing, 0, ring).expert_at(slot);
        return band;
    }
    if (combined) {
        b.slots = a.slots;
        slot = x.lane() < a.slots ? x.lane() : 0;
        b.weight = weight_of(x, a, b, slot);
    }
    b.picked = a.ids != nullptr ? expert_of(x, a, b, slot)
                                : token % a.member[0].experts;  // the tokens' in turns
    return band;
}

template <matvec_policy P, format_set W>
inline constexpr bool matvec_possible = !objection_to(matvec_of(P, W), P);

/// The body. Grid: one block per band, times the columns for members whose matrix ids pick; one
/// more where the norm that the launch makes is written too, or the experts that it finds. Shared
/// memory as kernel/layout.hpp says. `a` follows args.hpp; a.columns <= P.columns when dense, every
/// member's format is in W, k is a multiple of every member's block.
template <class X, matvec_policy P, format_set W>
CATENA_FN void matvec_body(X& x, const matvec_args& a) {
    static_assert(matvec_possible<P, W>,
                  "kernel/objection/matvec.hpp says why no matvec can be so");
    constexpr int room = slice_room<P, W>, team_room = P.stages * P.rows * room;

    reaches(x, phase::entry);
    x.grid_trigger();
    auto stream = x.template stream<P.copy, P.stages>();
    auto own_columns = x.template stream<columns_by<P>, 1>();
    std::byte* const all_stages =
        x.template shared<std::byte>(warp_teams(P, x.warps()) * team_room);
    std::byte* const stages = all_stages + x.warp() / warp_slices(P) * team_room;

    constexpr bool shares = P.cluster > 1;  // a cluster has a band, 1, 2, 4 or 8 blocks
    int band = shares ? x.cluster() : x.block();
    if constexpr (P.placement == norm_placement::passing)
        if (band == a.bands) return write_norm<P>(x, a, reinterpret_cast<float*>(all_stages));
    if constexpr (P.routes) {
        if (band == 0) return route_token<routed_by_thread>(x, a.routing, 0, all_stages);
        --band;
    }
    // A block that makes its activation is dense.
    const bool expert = P.placement == norm_placement::producer && has_experts(a);
    matvec_band b{.columns = P.columns == 1 || expert ? 1 : a.columns,
                  .finished = reinterpret_cast<float*>(stages)};
    if (expert) band = take_slot<P>(x, a, b, band, all_stages);
    if constexpr (P.routes) stream.reuse();
    int m = 0;
    CATENA_NO_UNROLL
    while (m + 1 < a.members && band >= a.member[m + 1].first_band) ++m;
    const matvec_member& member = a.member[m];
    b.member = &member;
    const int rows = takes_pairs<P> ? band_results(a, member) : a.band_rows;
    const int share = shares ? share_of_band(x, rows) : rows;
    b.first_row = (band - member.first_band) * rows + (shares ? x.cluster_rank() * share : 0);
    const int left = member.rows - b.first_row;
    b.end_row = b.first_row + (left < share ? left : share);
    const int matrices = member.experts > 0 ? member.experts : 1;
    if (static_cast<unsigned>(b.picked) >= static_cast<unsigned>(matrices)) b.picked = -1;
    // A launch of one format asks for no type.
    format_list<W>::visit(several<W> ? member.type : first_format<W>, [&]<format F> {
        multiply_band<P, F, room, several<W>>(x, a, b, stream, own_columns, stages);
    });
    if (combines<P> && a.combined) add_slots(x, b);
    if (member.q8_1 != nullptr) quantize_band<shares>(x, a, b);
    reaches(x, phase::end);
}

}  // namespace CATENA_NAMESPACE::kernel
