// The columns of a band: how a block gets them to shared memory, copied from where they lie or made
// from a row of f32.
#pragma once

#include "catena/exec/real.hpp"
#include "catena/kernel/args.hpp"
#include "catena/kernel/begun_norm.hpp"
#include "catena/kernel/phase.hpp"
#include "catena/kernel/placement.hpp"
#include "catena/kernel/walk.hpp"

namespace CATENA_NAMESPACE::kernel {

/// Bytes of 32 values of an activation row, and the distance to the next 32 values of the column.
template <matvec_policy P>
inline constexpr int group_bytes = P.product == inner_product::fma ? 32 * 4 : q8_1_bytes;
template <matvec_policy P>
inline constexpr int group_step = odd_quads_behind<P> ? group_bytes<P> / 2 : group_bytes<P>;

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

/// Parts in which columns come to shared memory. Where warps share rows, they begin with the first
/// stage, the second and the middle one of a row, and each is there when its first stage is
/// multiplied.
template <matvec_policy P>
inline constexpr int column_parts = P.slices > 1 ? 3 : 1;

/// Waits for the columns and starts their copies to shared memory, whole chunks of 16 bytes;
/// padding makes up the last one. Before the last column of q8_1 are `before` bytes of other slots'
/// columns. The wait is a branch: ptxas leaves what need not wait in front of a branch, but moves
/// it behind a plain wait.
template <matvec_policy P, class X, class Stream>
CATENA_FN void share_activation(X& x, const matvec_args& a, Stream& stream, const matvec_columns& u,
                                int before, std::byte* to, int column) {
    constexpr int share = warp_size * chunk_bytes;  // of a warp, in turn
    constexpr int of_stage = stage_values(P) / 32 * group_bytes<P>;
    static_assert(column_parts<P> == 1 || of_stage % chunk_bytes == 0, "parts are whole chunks");
    const int bytes =
        before + (a.k / 32 * group_bytes<P> + chunk_bytes - 1) / chunk_bytes * chunk_bytes;
    const int on = x.warps() * share;
    const int columns = P.columns > 1 || copies_slots<P> ? u.count : 1;
    if (a.weights_early) x.grid_wait();
    reaches(x, phase::waited);
    int end = 0;
    CATENA_NO_UNROLL
    for (int part = 0; part < column_parts<P>; ++part) {
        const int begin = end + x.warp() * share;
        const int stages = part == 0 ? 1 : middle_stage(P, a.k);
        const bool last = part + 1 == column_parts<P> || stages * of_stage > bytes;
        end = last ? bytes : stages * of_stage;
        int own = 0;
        for (int at = begin; at < end; at += on) own += end - at < share ? end - at : share;
        stream.begin(part, columns * own);
        CATENA_NO_UNROLL
        for (int c = 0; c < columns; ++c) {
            CATENA_NO_UNROLL
            for (int of_warp = begin; of_warp < end; of_warp += on) {
                const int at = of_warp + x.lane() * chunk_bytes;
                stream.copy_own(to + c * column + place_in_column<P>(at, a.k),
                                u.x + c * u.x_bytes + at, at < end ? chunk_bytes : 0);
            }
        }
        stream.commit(part);
    }
}

/// Are columns asked for ahead of the ring? It is filled as late where an expert is found, and its
/// bytes would be in front of the few of the columns.
template <matvec_policy P>
inline constexpr bool columns_first = (P.routes) && (P.activation == activation_source::shared) &&
                                      (columns_by<P> == copy_method::async);

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

/// Waits until all warps may read the columns.
template <matvec_policy P, class X, class Columns>
CATENA_FN void columns_there(X& x, Columns& own_columns) {
    if constexpr (P.activation == activation_source::shared) {
        if constexpr (P.placement == norm_placement::producer) own_columns.wait(0);
        x.sync();
    }
    reaches(x, phase::columns);
}

/// Waits for the columns, and copies or makes them, or asks `maker` for the first part of one.
/// Returns the place from which all warps read them; `columns_first`: when they are there.
/// `meanwhile` is called behind the wait, before columns are made or when they are copied. Shared
/// memory for columns and results is requested here, so no copy of weights waits for that.
template <matvec_policy P, class X, class Columns, class Maker, class Meanwhile>
CATENA_FN std::byte* take_columns(X& x, const matvec_args& a, matvec_band& b, Columns& own_columns,
                                  int column_bytes, Maker& maker, Meanwhile meanwhile) {
    constexpr bool shared = P.activation == activation_source::shared;
    constexpr bool makes = P.placement == norm_placement::deferred;
    matvec_columns from = columns_of(a, b);
    if constexpr (copies_slots<P>) from.count = a.x_slots == 1 ? 1 : b.slots;
    const int before =
        combines<P> && !copies_slots<P> ? (b.slots - 1) * slot_bytes<P>(a, column_bytes) : 0;
    int bytes = shared ? before + from.count * column_bytes : 0;
    if constexpr (makes) bytes += static_cast<int>(norm_bytes(P, b.columns));
    if constexpr (ends_norms(P)) bytes += b.columns * 4;
    std::byte* to = x.template shared<std::byte>(bytes);
    if (!P.turns && (b.member->q8_1 != nullptr || (combines<P> && a.combined)))
        b.finished = x.template shared<float>(b.columns * b.slots * a.finished);
    if constexpr (makes) maker.ask_for_weight(x, a);
    if constexpr (P.placement != norm_placement::producer) prefetch_weight<P>(x, a);
    if constexpr (makes || !shared) {
        if (a.weights_early) x.grid_wait();
        reaches(x, phase::waited);
    }
    if constexpr (makes_parts(P)) maker.begin(x, a, row_of(from));
    if constexpr (shared && !makes)
        share_activation<P>(x, a, own_columns, from, before, to, column_bytes);
    if constexpr (ends_norms(P)) end_norm(x, a, to + b.columns * column_bytes, b.columns);
    meanwhile();
    if constexpr (makes && !makes_parts(P))
        make_columns<P>(x, a, from, to, shared_norm<P>(to, b.columns, a.k), maker);
    if constexpr (!columns_first<P> && !makes_parts(P)) columns_there<P>(x, own_columns);
    return to;
}

}  // namespace CATENA_NAMESPACE::kernel
