// A warp's way through its part of a band: piece by piece of K, where slots are added up the same
// rows of the next slot's matrix, then the next group of P.rows weight rows. Each of the first
// P.rows lanes follows one row of the group and brings its slices, so that what a fill costs does
// not grow with the rows.
#pragma once

#include "catena/kernel/args.hpp"
#include "catena/kernel/distance.hpp"
#include "catena/kernel/slice.hpp"

#include <cstddef>
#include <cstdint>

namespace catena::kernel {

/// With a GLU a group takes half its rows from each of the two matrices: first those of the gate,
/// then the same rows of the other.
template <matvec_policy P>
inline constexpr bool takes_pairs = P.rows % 2 == 0;

/// Can a policy add up a token's slots?
template <matvec_policy P>
inline constexpr bool combines = slots_added(P) > 1;

/// One lane's walk. Rows past the band repeat its last one and are not stored.
template <matvec_policy P, format F>
struct matvec_walk {
    static constexpr unsigned turns = slots_added(P);  ///< of a row, at most
    static constexpr int piece_bytes = P.piece / block_elements<F> * block_bytes<F>;
    static constexpr int turn_values = warp_slices(P) * P.piece;  ///< of all warps of a team

    std::int64_t row_stride;
    int k;
    int turn;             ///< first row of the group, and the slot: one register has both
    int end_row;          ///< of the band
    int rows_on;          ///< to the warp's next group
    int slots;            ///< that are added up
    int mine;             ///< the lane's row in the group
    int slice;            ///< the warp's piece among those of its team; alone: 0
    int value;            ///< first value of the team's pieces
    const std::byte* at;  ///< the piece

    /// `matrix_of`: of a slot, that of the lane's row. All lanes.
    template <class Of>
    CATENA_FN void start_group(Of matrix_of) {
        int wanted = row() + mine;
        if (P.rows > 1 && wanted >= end_row) wanted = end_row - 1;
        value = 0;
        at = matrix_of(slot()) + distance(wanted, row_stride) + slice * piece_bytes;
    }
    CATENA_FN int row() const { return static_cast<int>(static_cast<unsigned>(turn) / turns); }
    CATENA_FN int slot() const { return static_cast<int>(static_cast<unsigned>(turn) % turns); }
    CATENA_FN bool done() const { return row() >= end_row; }
    /// First value of the warp's piece.
    CATENA_FN int first() const { return value + slice * P.piece; }
    /// None, or less, where a row's last pieces are fewer than the warps of a team.
    CATENA_FN int values() const { return k - first() < P.piece ? k - first() : P.piece; }
    CATENA_FN int bytes() const {
        return static_cast<int>(static_cast<unsigned>(values()) / block_elements<F>) *
               block_bytes<F>;
    }
    CATENA_FN bool last_piece() const { return k - value <= turn_values; }
    template <class Of>
    CATENA_FN void next(Of matrix_of) {
        if (last_piece()) {
            if (combines<P> && slot() + 1 < slots)
                ++turn;
            else
                turn = (row() + rows_on) * static_cast<int>(turns);
            start_group(matrix_of);
            return;
        }
        value += turn_values;
        at += warp_slices(P) * piece_bytes;
    }
};

/// Fills a stage, `Room` bytes for each row, with the slices that the lanes' walks point at.
template <matvec_policy P, format F, int Room, class X, class Stream>
CATENA_FN void fill_stage(X& x, Stream& stream, std::byte* stages, int stage,
                          const tensor_bytes& tensor, const matvec_walk<P, F>& walk) {
    slice s{walk.at, 0, 0, 0};
    if (P.slices == 0 || walk.values() > 0) s = slice_at<F, P.copy>(walk.at, walk.bytes(), tensor);
    std::byte* to = stages + (stage * P.rows + x.lane() % P.rows) * Room;
    stream.fill(stage, to + s.head, s.source, s.whole, P.rows);
    if (x.lane() >= P.rows) return;
    copy_ends(x, to, s);
    // A tensor's end is the last of a walk but where other slots follow: their copies write there.
    if constexpr (P.copy == copy_method::bulk && combines<P>)
        if (s.tail != 0) x.async_fence();
}

}  // namespace catena::kernel
