// What the inner products of a matvec have in common. One header for each in this folder: dot.hpp
// (dp4a), fragment.hpp (integer mma), float_weights.hpp (float weights). The skeleton knows
// nothing else about how values are multiplied.
#pragma once

#include "catena/kernel/args.hpp"
#include "catena/kernel/layout.hpp"
#include "catena/kernel/unpack.hpp"

#include <cstdint>

namespace CATENA_NAMESPACE::kernel {

/// The part of the activation that goes with a piece.
struct matvec_columns {
    const std::byte* x;    ///< start of the first column
    std::int64_t x_bytes;  ///< bytes from column to column
    int count;
    int half = 0;  ///< odd_quads_behind: bytes from a column's even quads to its odd ones
};

/// The d of a q8_1 block.
template <class X>
CATENA_FN real load_scale(X& x, const std::byte* block) {
    return x.load(reinterpret_cast<const float*>(block));
}

/// A piece of a warp's weight rows: row r at rows + r * Room + the `offset` of lane r.
struct matvec_piece {
    const std::byte* rows;
    int offset;  ///< offset of the lane's row
    int values;
    int value;         ///< number of the piece's first value in the row
    int row, end_row;  ///< first row of the group, and end of the band
    int expert;        ///< number of the matrix; dense: 0
    bool pairs;        ///< the rows are those of a GLU
    const matvec_member* member;
    const float* norm_weight;  ///< norm_placement::passing: norm weight at the piece's values
};

/// The address of row r of a piece. All lanes call it together, and r may differ between them.
template <format F, int Rows, int Room, class X>
CATENA_FN const std::byte* row_of_piece(X& x, const matvec_piece& p, int r) {
    const std::byte* row = p.rows + r * Room;
    if constexpr (block_alignment<F> == 16)
        return row;
    else if constexpr (Rows == 1)  // every lane follows that row
        return row + p.offset;
    else
        return row + x.shuffle(p.offset, r);
}

/// An inner product of matvec_policy P and weight format F: the sums that a lane keeps while its
/// warp walks along K.
template <matvec_policy P, format F, inner_product Kind = P.product>
struct product;

/// What a band asks of an inner product. `add` multiplies a piece with every column; a row of it
/// has Room bytes. `results` is called after the last piece, when each result is in one lane: with
/// a GLU (pairs) v and row are those of the gate, and `up` is the product of the other matrix. Some
/// lanes may finish rows or columns that do not exist.
template <class Sums, class X, int Room>
concept sums_of_products = requires(Sums sums, X& x, const matvec_piece& piece,
                                    const matvec_columns& columns, bool pairs,
                                    void (*finish)(int row, int column, real v, real up)) {
    sums.clear();
    sums.template add<Room>(x, piece, columns);
    sums.results(x, pairs, finish);
};

/// The one result of a group of rows that a lane finishes, if `finishes` says so.
struct lane_place {
    int row, column;
    bool finishes;
};

/// Does a lane finish one result of a group at most, and know which one before the products?
template <matvec_policy P>
inline constexpr bool one_result = P.columns == 1;

/// A group's scales with its mins negated: before lanes share them, so that each is negated once.
template <format F, class X>
CATENA_FN auto weights_of(X& x, placed_block block, int group) {
    auto w = unpack<F>::scales_of(x, block, group);
    if constexpr (unpack<F>::mins)
        for (real& min : w.min) min = -min;
    return w;
}

/// The term of a group in a row's sum, without the activation's scale: the group's products times
/// its scales and, for a format with mins, the sums of the activation times the mins, one of the
/// two negated. This is a part of every accumulation order.
template <int Scales, bool Mins>
CATENA_FN real weighed(const group_scales<Scales, Mins>& w, const real (&product)[Scales],
                       [[maybe_unused]] const real (&sum)[Scales]) {
    real v = w.scale[0] * product[0];
    if constexpr (Scales == 2) v = fma(w.scale[1], product[1], v);
    if constexpr (Mins) {
        v = fma(w.min[0], sum[0], v);
        if constexpr (Scales == 2) v = fma(w.min[1], sum[1], v);
    }
    return v;
}

}  // namespace CATENA_NAMESPACE::kernel
