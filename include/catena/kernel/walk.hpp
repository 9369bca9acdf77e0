// A warp's way through its part of a band: piece by piece of K, then the next group of P.rows
// weight rows; where slots are added up, behind the band's rows of one slot's matrix come those of
// the next. Each of the first lanes follows one row of the group and brings its slices, so that
// what a fill costs does not grow with the rows. The warps of a team share the rows, and each
// brings its part of them for all.
#pragma once

#include "catena/exec/executor.hpp"
#include "catena/kernel/args.hpp"
#include "catena/kernel/distance.hpp"
#include "catena/kernel/slice.hpp"

#include <cstddef>
#include <cstdint>

namespace CATENA_NAMESPACE::kernel {

/// With a GLU a group takes half its rows from each of the two matrices: first those of the gate,
/// then the same rows of the other.
template <matvec_policy P>
inline constexpr bool takes_pairs = P.rows % 2 == 0;

/// Can a policy add up a token's slots?
template <matvec_policy P>
inline constexpr bool combines = slots_added(P) > 1;

/// Weight rows of a group whose slices a warp brings.
template <matvec_policy P>
inline constexpr int rows_brought = P.rows / warp_slices(P);

/// The first of these.
template <matvec_policy P, class X>
CATENA_FN int first_brought(X& x) {
    return P.slices > 1 ? x.warp() % warp_slices(P) * rows_brought<P> : 0;
}

/// The row of a group that a lane follows.
template <matvec_policy P, class X>
CATENA_FN int followed_row(X& x) {
    return first_brought<P>(x) + x.lane() % rows_brought<P>;
}

/// The place of a warp in its part of a band.
template <matvec_policy P>
struct matvec_place {
    /// Room for slots beside a row, and for one more at the end. A matrix has 2^25 rows at most.
    static constexpr unsigned numbers = combines<P> ? 2 * slots_added(P) : 1;
    static constexpr int turn_values = stage_values(P);  ///< values of all warps of a team

    int k;
    unsigned turn;  ///< first row of the group and slot, in one register
    unsigned on;    ///< distance in turn to the warp's next group
    unsigned back;  ///< distance in turn from the end of the band to the next slot
    int end_row;    ///< end of the band's rows
    int slots;      ///< slots that are added up
    int slice;      ///< the warp's piece among those of its team; alone: 0
    int left;       ///< values of the row from the team's pieces on

    CATENA_FN int row() const { return static_cast<int>(turn / numbers); }
    CATENA_FN int slot() const { return static_cast<int>(turn % numbers); }
    CATENA_FN bool done() const { return combines<P> ? slot() >= slots : row() >= end_row; }
    /// Goes to the next slots if the group lies behind the band's rows.
    CATENA_FN void settle() {
        if constexpr (combines<P>)
            while (turn >= static_cast<unsigned>(end_row) * numbers) {
                turn -= back;
                if (done()) break;
            }
    }
    /// First value of the warp's piece.
    CATENA_FN int first() const { return k - left + slice * P.piece; }
    /// Values of the warp's piece: 0 or less if the row's last pieces are fewer than a team's
    /// warps.
    CATENA_FN int values() const {
        const int own = left - slice * P.piece;
        return own < P.piece ? own : P.piece;
    }
    CATENA_FN int team_values() const { return left < turn_values ? left : turn_values; }
    CATENA_FN bool last_piece() const { return left <= turn_values; }
    CATENA_FN void next() {
        if (!last_piece()) {
            left -= turn_values;
            return;
        }
        left = k;
        turn += on;
        settle();
    }
};

/// One lane's walk. Rows past the band repeat its last one and are not stored.
template <matvec_policy P, format F>
struct matvec_walk : matvec_place<P> {
    static constexpr int piece_bytes = P.piece / block_elements<F> * block_bytes<F>;
    static constexpr int turn_bytes = warp_slices(P) * piece_bytes;

    std::int64_t row_stride;
    int mine;           ///< the lane's row in the group
    std::uintptr_t at;  ///< the slice: of a pointer two would be kept, one of them generic

    /// `matrix_of(slot, row)`: of a slot, that of the lane's row, which it may count otherwise. All
    /// lanes.
    template <class Of>
    CATENA_FN void start_group(Of matrix_of) {
        int wanted = this->row() + mine;
        if (P.rows > 1 && wanted >= this->end_row) wanted = this->end_row - 1;
        const std::byte* const matrix = matrix_of(this->slot(), wanted);
        at = reinterpret_cast<std::uintptr_t>(matrix + distance(wanted, row_stride));
    }
    CATENA_FN const std::byte* slice_begin() const {
        return reinterpret_cast<const std::byte*>(at);
    }
    CATENA_FN int bytes() const {
        return static_cast<int>(static_cast<unsigned>(this->team_values()) / block_elements<F>) *
               block_bytes<F>;
    }
    template <class Of>
    CATENA_FN void next(Of matrix_of) {
        const bool last = this->last_piece();
        matvec_place<P>::next();
        if (!last)
            at += turn_bytes;
        else if (!this->done())
            start_group(matrix_of);
    }
};

/// Where the lane's slices begin in the stages of a ring: four bits each.
template <matvec_policy P, format F>
class slice_offsets {
  public:
    CATENA_FN void push(const std::byte* at) {
        if constexpr (!whole_chunks<F>)
            all_ = all_ << 4 | static_cast<unsigned>(slice_offset<F>(at));
    }
    /// That of P.stages - 1 pushes ago.
    CATENA_FN int oldest() const { return static_cast<int>(all_ >> 4 * (P.stages - 1) & 15u); }

  private:
    unsigned all_ = 0;
};

/// Fills a stage, `Room` bytes for each row, with the slices that the lanes' walks point at.
template <matvec_policy P, format F, int Room, class X, class Stream>
CATENA_FN void fill_stage(X& x, Stream& stream, std::byte* stages, int stage,
                          const tensor_bytes& tensor, const matvec_walk<P, F>& walk) {
    constexpr filled_rows rows{rows_brought<P>, Room, whole_chunks<F>};
    std::byte* const first = stages + (stage * P.rows + first_brought<P>(x)) * Room;
    std::byte* const to = first + x.lane() % rows.count * Room;
    slice s{walk.slice_begin(), 0, 0, 0};
    if (P.copy != copy_method::plain && !walk.last_piece()) {
        s = inner_slice<F>(walk.slice_begin(), walk.turn_bytes);
    } else {
        s = slice_at<F, P.copy>(walk.slice_begin(), walk.bytes(), tensor);
        if (x.lane() < rows.count) copy_ends(x, to, s);
        // A tensor's end is the last of a walk but where other slots follow: their copies write
        // there.
        if constexpr (P.copy == copy_method::bulk && combines<P>)
            if (s.tail != 0) x.async_fence();
    }
    stream.template fill<rows>(stage, first + s.head, s.source, s.whole);
}

}  // namespace CATENA_NAMESPACE::kernel
