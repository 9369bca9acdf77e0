// A band of a matvec: the rows that a block multiplies with all columns. A warp brings pieces of
// its weight rows into a ring, and multiplies each a few turns later; in between the columns come.
#pragma once

#include "catena/exec/real.hpp"
#include "catena/kernel/band_columns.hpp"
#include "catena/kernel/dot.hpp"
#include "catena/kernel/epilogue.hpp"
#include "catena/kernel/float_weights.hpp"
#include "catena/kernel/fragment.hpp"
#include "catena/kernel/phase.hpp"
#include "catena/kernel/turned_result.hpp"
#include "catena/kernel/walk.hpp"

#include <type_traits>

namespace CATENA_NAMESPACE::kernel {

/// In place of what turns rows, or makes columns.
struct not_needed {};

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
                if (!makes_parts(P) && read_.done()) break;
            }
            operands asked;
            if constexpr (P.turns || asks_first<P>)
                if (read_.last_piece()) ask_for_result(asked);
            if (!multiply_piece(turn)) break;
            stream_.release(stage_);
            if (read_.last_piece()) finish_rows(asked);
            go_on();
        }
        if constexpr (splits)
            if (turn <= 1) own_columns_.wait(1), own_columns_.wait(2);  // a stage had all of K
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
    std::conditional_t<P.turns, row_lookup<P>, not_needed> lookup_;
    std::conditional_t<deferred, column_maker<P>, not_needed> maker_;
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
            if (turn == 1) own_columns_.wait(1);  // a part is there when warps have met
            if (turn == middle_stage(P, a_.k)) own_columns_.wait(2);
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
        shared_x_ = take_columns<P>(x_, a_, b_, own_columns_, column_bytes_, maker_, [this] {
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

    /// Makes the part of the column that is due, or all of them with a warp that has no rows.
    CATENA_FN void make_part(int turn) {
        CATENA_NO_UNROLL
        do {
            maker_.make(x_, a_, row_of(columns_of(a_, b_)), shared_x_,
                        shared_norm<P>(shared_x_, 1, a_.k).partial);
            if (turn == 0) reaches(x_, phase::columns);
        } while (read_.done() && maker_.due() >= 0);
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

    CATENA_FN void wait_for_weights(int turn) {
        if constexpr (!splits) stream_.wait(stage_);
        if (turn == 0) reaches(x_, phase::weights);
    }

    /// Multiplies the piece of a turn when it is there. Where a column is made, the first group of
    /// rows makes each part ahead of its products. False: the warp has no rows.
    CATENA_FN bool multiply_piece(int turn) {
        if constexpr (makes_parts(P)) {
            constexpr int part = part_values(P);
            int done = 0;  // values of the piece
            CATENA_NO_UNROLL
            do {
                if (read_.first() + done == maker_.due()) {
                    make_part(turn);
                    if (turn == 0 && read_.done()) return false;
                }
                if (done == 0) wait_for_weights(turn);
                const int left = read_.values() - done;
                const int values = part < P.piece && part < left && maker_.due() >= 0 ? part : left;
                multiply(done, values);
                done += values;
            } while (part < P.piece && done < read_.values());
        } else {
            wait_for_weights(turn);
            multiply(0, read_.values());
        }
        return true;
    }

    /// Multiplies so many values of the piece, from `first` on.
    CATENA_FN void multiply(int first, int values) {
        const matvec_columns columns = P.activation == activation_source::shared
                                           ? matvec_columns{shared_x_, column_bytes_, b_.columns}
                                           : columns_of(a_, b_);
        products_.template add<Room>(
            x_,
            {.rows = arrived() + read_.slice * walk::piece_bytes +
                     first / block_elements<F> * block_bytes<F>,
             .offset = offset_of_slice(),
             .values = values,
             .value = read_.first() + first,
             .row = read_.row(),
             .end_row = read_.end_row,
             .expert = F == format::fp8_e4m3 ? read_expert(read_.slot()) : 0,
             .pairs = pairs_,
             .member = &m_,
             .norm_weight = passes ? a_.norm_weight + read_.first() : nullptr},
            {columns.x + x_at_ + first / group_values * group_step<P>, columns.x_bytes,
             columns.count, half_of_column(a_.k)});
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
            if constexpr (makes_parts(P))
                factor = maker_.factor();
            else if constexpr (deferred)
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
