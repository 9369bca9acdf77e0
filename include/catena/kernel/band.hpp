// A band of a matvec: the rows that a block multiplies with all columns. A warp brings pieces of
// its weight rows into a ring, and multiplies each a few turns later; in between the columns come.
#pragma once

#include "catena/exec/real.hpp"
#include "catena/kernel/args.hpp"
#include "catena/kernel/begun_norm.hpp"
#include "catena/kernel/dot.hpp"
#include "catena/kernel/epilogue.hpp"
#include "catena/kernel/float_weights.hpp"
#include "catena/kernel/fragment.hpp"
#include "catena/kernel/phase.hpp"
#include "catena/kernel/placement.hpp"
#include "catena/kernel/turned_result.hpp"
#include "catena/kernel/walk.hpp"

#include <type_traits>

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

/// Parts in which columns come to shared memory. Warps that share rows multiply the first stage
/// while the rest of the columns is on its way.
template <matvec_policy P>
inline constexpr int column_parts = P.slices > 1 ? 2 : 1;

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
    CATENA_NO_UNROLL
    for (int part = 0; part < column_parts<P>; ++part) {
        const int begin = part * of_stage + x.warp() * share;
        const int end = column_parts<P> > 1 && part == 0 && of_stage < bytes ? of_stage : bytes;
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

/// Waits for the columns, and copies or makes them. Returns the place from which all warps read
/// them; `columns_first`: when they are there. `meanwhile` is called behind the wait, before
/// columns are made or when they are copied. Shared memory for columns and results is requested
/// here, so no copy of weights waits for that.
template <matvec_policy P, class X, class Columns, class Meanwhile>
CATENA_FN std::byte* take_columns(X& x, const matvec_args& a, matvec_band& b, Columns& own_columns,
                                  int column_bytes, Meanwhile meanwhile) {
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
    [[maybe_unused]] quads_ahead weight;  // no weight changes: it is there when x is
    if constexpr (makes) load_weight<P>(x, a, 0, weight);
    if constexpr (P.placement != norm_placement::producer) prefetch_weight<P>(x, a);
    if constexpr (makes || !shared) {
        if (a.weights_early) x.grid_wait();
        reaches(x, phase::waited);
    }
    if constexpr (shared && !makes)
        share_activation<P>(x, a, own_columns, from, before, to, column_bytes);
    if constexpr (ends_norms(P)) end_norm(x, a, to + b.columns * column_bytes, b.columns);
    meanwhile();
    if constexpr (makes)
        make_activation<P>(x, a, from, to, shared_norm<P>(to, b.columns, a.k), weight);
    if constexpr (!columns_first<P>) columns_there<P>(x, own_columns);
    return to;
}

/// In place of what turns rows.
struct no_lookup {};

/// Are a result's operands loaded before its last piece has arrived? Not in a launch that makes its
/// norm: with their registers only one block would fit an SM, not two.
template <matvec_policy P>
inline constexpr bool asks_first = P.placement == norm_placement::deferred ? false : one_result<P>;

/// Multiplies the band of a block, all its rows and columns. A warp goes through its part of the
/// band twice: `fill_` brings pieces of weight rows into the ring, and P.stages - 1 turns later
/// `read_` multiplies them. `Several` says that the kernel has more formats than this one.
///
/// Warps of a team multiply what all of them have copied, so they meet when a stage has arrived.
/// After that meeting every warp has read the stage before.
template <matvec_policy P, format F, int Room, bool Several, class X, class Stream, class Columns>
class band_product {
    static constexpr bool splits = P.slices > 1;
    static constexpr bool passes = P.placement == norm_placement::passing;
    static constexpr bool deferred = P.placement == norm_placement::deferred;
    static_assert(sums_of_products<product<P, F>, X, Room>);
    using walk = matvec_walk<P, F>;
    using reader = std::conditional_t<splits, walk, matvec_place<P>>;
    using operands = std::conditional_t<P.turns, turned_element, asked_operands>;

  public:
    /// `stages`: the ring of the team. `own_columns`: a stream of one stage, which brings the
    /// columns.
    CATENA_FN band_product(X& x, const matvec_args& a, matvec_band& b, Stream& stream,
                           Columns& own_columns, std::byte* stages)
        : x_(x),
          a_(a),
          b_(b),
          m_(*b.member),
          stream_(stream),
          own_columns_(own_columns),
          stages_(stages),
          shared_x_(stages),
          column_bytes_(
              static_cast<int>(shared_column_bytes(P.product, static_cast<unsigned>(a.k)))),
          pairs_(!P.turns && takes_pairs<P> && m_.up != nullptr),
          warp_rows_(P.turns || pairs_ ? P.rows / 2 : P.rows),
          team_row_(x.warp() / warp_slices(P) * warp_rows_),
          filled_row_(followed_row<P>(x)),
          read_row_(x.lane() % P.rows),
          tensor_{matrix_with(filled_row_), matrix_with(filled_row_) + m_.weight_bytes},
          fill_(walk_from(start(), filled_row_)),
          read_(reader_from(fill_)) {}

    CATENA_FN void run() {
        if (!fill_.done()) fill_.start_group(matrices_filled());
        if constexpr (splits) read_.start_group(matrices_read());
        products_.clear();
        if (!a_.weights_early) x_.grid_wait();
        x_at_ = first_of_column();
        if constexpr (columns_first<P>) bring_columns();
        int turn = 1 - P.stages;
        CATENA_NO_UNROLL
        for (; turn <= 0 || !read_.done(); ++turn) {
            bring(turn);
            if (turn < 0) continue;
            if (turn == 0) {  // the ring is full
                take_the_columns();
                if (read_.done()) break;
            }
            operands asked;
            if constexpr (P.turns || asks_first<P>)
                if (read_.last_piece()) ask_for_result(asked);
            if constexpr (!splits) stream_.wait(stage_);
            if (turn == 0) reaches(x_, phase::weights);
            multiply();
            stream_.release(stage_);
            if (read_.last_piece()) finish_rows(asked);
            go_on();
        }
        if constexpr (splits)
            if (turn <= 1) own_columns_.wait(1);  // nothing, where a stage has all of K
    }

  private:
    X& x_;
    const matvec_args& a_;
    matvec_band& b_;
    const matvec_member& m_;
    Stream& stream_;
    Columns& own_columns_;
    std::byte* const stages_;
    std::byte* shared_x_;  ///< columns; at first the ring: so it is known to be in shared memory
    const int column_bytes_;
    const bool pairs_;
    const int warp_rows_;              ///< rows of a group of each matrix
    const int team_row_;               ///< first row of the warp's team
    const int filled_row_, read_row_;  ///< rows of a group that the lane follows in both walks
    const tensor_bytes tensor_;        ///< the tensor of the first of these
    walk fill_;
    reader read_;
    slice_offsets<P, F> offsets_;  ///< slices of a warp's own
    product<P, F> products_;
    std::conditional_t<P.turns, row_lookup<P>, no_lookup> lookup_;
    int stage_ = 0;
    int asked_groups_ = 0;
    int x_at_ = 0;  ///< place of the warp's piece in a column

    /// Rows of another team lie behind those of the first, which warps that meet all follow.
    CATENA_FN int behind() const { return splits ? team_row_ : 0; }

    CATENA_FN matvec_place<P> start() const {
        const auto turns = [](int rows) { return static_cast<unsigned>(rows) * walk::numbers; };
        const int rows = b_.end_row - b_.first_row;
        matvec_place<P> place{.k = a_.k,
                              .turn = turns(b_.first_row + (splits ? 0 : team_row_)),
                              .on = turns(rows_of_turn()),
                              .back = turns((rows + warp_rows_ - 1) / warp_rows_ * warp_rows_) - 1,
                              .end_row = b_.end_row,
                              .slots = b_.slots,
                              .slice = splits ? x_.warp() % warp_slices(P) : 0,
                              .left = a_.k};
        place.settle();
        return place;
    }
    CATENA_FN walk walk_from(const matvec_place<P>& place, int row) const {
        return {place, m_.row_bytes, behind() + (row < warp_rows_ ? row : row - warp_rows_), 0};
    }
    CATENA_FN reader reader_from(const matvec_place<P>& place) const {
        if constexpr (splits)
            return walk_from(place, read_row_);
        else
            return place;
    }

    /// The matrix that has a row of a group: of a GLU, that of the gate or the other one.
    CATENA_FN const std::byte* matrix_with(int row) const {
        return static_cast<const std::byte*>(P.turns || row < warp_rows_ ? m_.weight : m_.up);
    }
    /// Is a row of a group the second of a pair, if heads are turned?
    CATENA_FN bool second_of_pair(int row) const { return row >= warp_rows_; }
    CATENA_FN int expert_of(int slot) const {
        return combines<P> ? x_.shuffle(b_.picked, slot) : b_.picked;
    }
    /// The number of the matrix that is read, whatever the id.
    CATENA_FN int read_expert(int slot) const {
        const int expert = expert_of(slot);
        return expert > 0 ? expert : 0;
    }
    /// The matrices of slots that a walk along a row of the group goes through.
    CATENA_FN auto matrices_filled() const {
        return [this](int slot, [[maybe_unused]] int& row) {
            if constexpr (P.turns)
                row = row_of_pair(a_.heads, *b_.head, row, second_of_pair(filled_row_)).row;
            return tensor_.first + distance(read_expert(slot), m_.expert_bytes);
        };
    }
    CATENA_FN auto matrices_read() const {
        return [this](int slot, int&) {
            return matrix_with(read_row_) + distance(read_expert(slot), m_.expert_bytes);
        };
    }

    CATENA_FN int first_of_column() const {
        const int piece = read_.slice * (P.piece / group_values * group_step<P>);
        return combines<P> ? piece + read_.slot() * slot_bytes<P>(a_, column_bytes_) : piece;
    }

    /// Waits until all that the team has brought for a stage is there.
    CATENA_FN void meet_at(int stage) {
        stream_.wait(stage);
        x_.sync();
    }

    /// Fills the stage that was multiplied last, and goes to the next one.
    CATENA_FN void bring(int turn) {
        const int next = stage_ + 1 < P.stages ? stage_ + 1 : 0;
        if constexpr (splits) {
            if (turn == 1) own_columns_.wait(1);  // the rest is there when warps have met
            if (turn > 0) meet_at(next);
        }
        if constexpr (!splits) offsets_.push(fill_.slice_begin());
        if (!fill_.done()) {
            fill_stage<P, F, Room>(x_, stream_, stages_, stage_, tensor_, fill_);
            fill_.next(matrices_filled());
        }
        stage_ = next;
    }

    CATENA_FN void bring_columns() {
        shared_x_ = take_columns<P>(x_, a_, b_, own_columns_, column_bytes_, [this] {
            if constexpr (P.turns) lookup_.load(x_, a_, b_);
        });
    }
    CATENA_FN void take_the_columns() {
        reaches(x_, phase::filled);
        if constexpr (P.turns)
            lookup_.begin(a_.heads, *b_.head, pair_of_lane(), b_.end_row,
                          second_of_pair(x_.lane() % P.rows));
        if constexpr (columns_first<P>)
            columns_there<P>(x_, own_columns_);
        else
            bring_columns();
        if constexpr (P.turns) lookup_.turn(a_.heads);
        if constexpr (splits)
            if (!read_.done()) meet_at(stage_);
    }

    /// Asks for the operands of the one result that the lane finishes.
    CATENA_FN void ask_for_result(asked_operands& asked) {
        b_.expert = expert_of(read_.slot());
        if constexpr (one_result<P>) {
            const lane_place at = products_.place(x_, pairs_);
            const int row = read_.row() + at.row;
            if (at.finishes && row < b_.end_row)
                asked =
                    ask<takes_pairs<P>, combines<P>, P.routes>(x_, a_, b_, row, 0, read_.slot());
        }
    }

    /// Rows that all warps of a block take at once, of each matrix.
    CATENA_FN int rows_of_turn() const { return warp_teams(P, x_.warps()) * warp_rows_; }
    /// The pair that the row of a lane's number is of, among all rows that the warp has.
    CATENA_FN int pair_of_lane() const {
        return b_.first_row + team_row_ + x_.lane() / P.rows * rows_of_turn() +
               x_.lane() % P.rows % warp_rows_;
    }
    CATENA_FN void ask_for_result(turned_element& asked) {
        asked = lookup_.of_lane(x_, asked_groups_++ * P.rows + products_.place(x_, pairs_).row);
    }

    CATENA_FN std::byte* arrived() const { return stages_ + stage_ * (P.rows * Room); }
    CATENA_FN int offset_of_slice() const {
        if constexpr (splits)
            return whole_chunks<F> ? 0 : slice_offset<F>(read_.slice_begin());
        else
            return offsets_.oldest();
    }

    CATENA_FN void multiply() {
        const matvec_columns columns = P.activation == activation_source::shared
                                           ? matvec_columns{shared_x_, column_bytes_, b_.columns}
                                           : columns_of(a_, b_);
        products_.template add<Room>(
            x_,
            {.rows = arrived() + read_.slice * walk::piece_bytes,
             .offset = offset_of_slice(),
             .values = read_.values(),
             .value = read_.first(),
             .row = read_.row(),
             .end_row = read_.end_row,
             .expert = F == format::fp8_e4m3 ? read_expert(read_.slot()) : 0,
             .pairs = pairs_,
             .member = &m_,
             .norm_weight = passes ? a_.norm_weight + read_.first() : nullptr},
            {columns.x + x_at_, columns.x_bytes, columns.count, half_of_column(a_.k)});
    }

    /// Finishes the results of a group of rows, whose last piece is multiplied.
    CATENA_FN void finish_rows(operands& asked) {
        reaches(x_, phase::multiplied);
        if constexpr (!P.turns && !asks_first<P>) ask_for_result(asked);
        const real weight = combines<P> ? x_.shuffle(b_.weight, read_.slot()) : real{1};
        real factor{1};
        if constexpr (passes) factor = over_rms(products_.sum_of_squares(x_), a_.k, a_.eps);
        const auto finish_one = [&](int row, int column, real v, real up) {
            row = (P.turns ? row % warp_rows_ : row) + read_.row() + behind();
            if (row >= b_.end_row || column >= b_.columns) return;
            if constexpr (deferred)
                factor = x_.load(shared_norm<P>(shared_x_, b_.columns, a_.k).factor + column);
            if (ends_norms(P) && a_.begun_squares != nullptr)
                factor = over_rms_of(x_, shared_x_ + b_.columns * column_bytes_, column);
            if constexpr (passes || deferred || ends_norms(P)) v = v * factor, up = up * factor;
            if constexpr (P.turns) {
                finish_element(x_, b_, lookup_.row_of_cache(), asked, v, up);
            } else {
                if constexpr (!one_result<P>)
                    asked = ask<takes_pairs<P>, combines<P>, P.routes>(x_, a_, b_, row, column,
                                                                       read_.slot());
                finish<Several, takes_pairs<P>, combines<P>, P.routes>(
                    x_, a_, b_, row, column, read_.slot(), weight, asked, v, up);
            }
        };
        if constexpr (splits) {
            products_.results_of_team(x_, pairs_, reinterpret_cast<float*>(arrived()), finish_one);
            stream_.reuse();
        } else {
            products_.results(x_, pairs_, finish_one);
        }
        products_.clear();
    }

    CATENA_FN void go_on() {
        const bool last = read_.last_piece();
        if constexpr (splits)
            read_.next(matrices_read());
        else
            read_.next();
        if (last)
            x_at_ = first_of_column();
        else
            x_at_ += matvec_place<P>::turn_values / group_values * group_step<P>;
    }
};

}  // namespace CATENA_NAMESPACE::kernel
