// How a stage of a matmul is filled: each warp copies its own weight rows and its share of the
// activation's columns.
#pragma once

#include "catena/kernel/matmul/tile.hpp"
#include "catena/kernel/slice.hpp"

namespace CATENA_NAMESPACE::kernel {

/// A warp's weight rows, and where they are in K. Rows behind the tile repeat its last.
template <matmul_policy P, format F>
struct weight_rows_of_warp {
    const std::byte* matrix;  ///< row 0 of the expert's matrix
    const std::byte* up;      ///< the same of the second half of a tile of pairs
    tensor_bytes tensor, up_tensor;
    std::int64_t row_bytes;
    int first, last;  ///< the tile's first row, and its last that exists
    int half;         ///< rows of `matrix` in the tile: behind them are rows of `up`
    int row;          ///< the warp's first row in the tile
    int slice;        ///< the warp's piece of a step
    int k;

    template <class X>
    CATENA_FN static weight_rows_of_warp of(X& x, const matmul_args& a, const matmul_tile& t) {
        const matvec_member& m = *t.member;
        const auto* weight = static_cast<const std::byte*>(m.weight);
        const auto* up = static_cast<const std::byte*>(t.pairs ? m.up : m.weight);
        const std::int64_t to_expert = t.expert * m.expert_bytes;
        return {
            .matrix = weight + to_expert,
            .up = up + to_expert,
            .tensor = {weight, weight + m.weight_bytes},
            .up_tensor = {up, up + m.weight_bytes},
            .row_bytes = m.row_bytes,
            .first = t.first_row,
            .last = t.first_row + t.rows - 1,
            .half = t.pairs ? rows_of_tile<P> / 2 : rows_of_tile<P>,
            .row = slices_of_tile<P> > 1 ? x.warp() * P.rows % rows_of_tile<P> : x.warp() * P.rows,
            .slice = slices_of_tile<P> > 1 ? x.warp() * P.rows / rows_of_tile<P> : 0,
            .k = a.k};
    }

    /// Value `value` of the warp's row r.
    CATENA_FN const std::byte* at(int r, int value) const {
        const bool of_up = row + r >= half;
        const int wanted = first + row + r - (of_up ? half : 0);
        return (of_up ? up : matrix) + (wanted < last ? wanted : last) * row_bytes +
               value / block_elements<F> * block_bytes<F>;
    }
    /// These rows, cut to a part of K.
    CATENA_FN weight_rows_of_warp of_part(part_of_k part) const {
        weight_rows_of_warp out = *this;
        const std::int64_t before = part.first / block_elements<F> * std::int64_t{block_bytes<F>};
        out.matrix += before, out.up += before, out.k = part.values;
        return out;
    }
    /// The first value of the warp's piece in the step at `step`. Behind K the warp has no piece.
    CATENA_FN int value_of(int step) const { return step + slice * P.piece; }
    CATENA_FN kernel::slice piece(int r, int step) const {
        const int value = value_of(step);
        const int values = k - value < P.piece ? k - value : P.piece;
        if (values <= 0 && slices_of_tile<P> != 1) return {matrix, 0, 0, 0};
        return slice_at<F, P.copy>(at(r, value), values / block_elements<F> * block_bytes<F>,
                                   row + r >= half ? up_tensor : tensor);
    }
};

/// Columns that a warp multiplies together: an mma's; two for float weights, which one instruction
/// loads.
template <format L>
inline constexpr int columns_together = L == format::f32 ? 2 * mma_columns : mma_columns;

/// Columns that are copied: all that are multiplied. Those that do not exist repeat the last.
template <format L>
CATENA_FN int copied_columns(const matmul_tile& t) {
    constexpr int unit = columns_together<L>;
    return (t.columns + unit - 1) / unit * unit;
}

/// The activation of layout L: where a block of it lies, and the bytes of the block that begins
/// with so many values of K left.
template <format L>
CATENA_FN const std::byte* column_block(const matmul_args& a, int value, int row) {
    const auto* x = static_cast<const std::byte*>(a.x);
    if constexpr (L == format::f32)
        return x + row * a.x_bytes + value * std::int64_t{4};
    else if constexpr (L == format::fp8_group)
        return x + row * a.x_bytes + value;
    else if constexpr (in_mma_blocks(L))
        return x + (value / warpgroup_values * std::int64_t{a.x_rows} + row) * warpgroup_row_bytes;
    else
        return x + (value / mmq_values * std::int64_t{a.x_rows} + row) * mmq_bytes;
}
template <matmul_policy P, format L>
CATENA_FN int copied_bytes(int left) {
    if constexpr (L == format::f32)
        return 4 * (left < P.piece ? left : P.piece);
    else
        return L == format::fp8_group ? fp8_values : mmq_bytes;
}

/// Bytes of the warp's weight rows that copies bring in the step that begins at `value`.
template <matmul_policy P, format F, class X>
CATENA_FN int weight_bytes_of_warp(X& x, const weight_rows_of_warp<P, F>& weights, int value) {
    int total = 0;
    for (int r = x.lane(); r < P.rows; r += warp_size) total += weights.piece(r, value).whole;
    CATENA_UNROLL
    for (int mask = warp_size / 2; mask > 0; mask /= 2) total += x.shuffle_xor(total, mask);
    return total;
}

/// Copies them, row by row, `Room` bytes from one to the next.
template <int Room, matmul_policy P, format F, class X, class Stream>
CATENA_FN void copy_weights_of_warp(X& x, Stream& stream, const weight_rows_of_warp<P, F>& weights,
                                    std::byte* to, int value) {
    stream.template copy_rows<P.rows, Room>([&](int r) -> copied_row {
        const slice s = weights.piece(r, value);
        return {to + r * Room + s.head, s.source, s.whole};
    });
    for (int r = x.lane(); r < P.rows; r += warp_size)
        copy_ends(x, to + r * Room, weights.piece(r, value));
}

/// Fills stage `stage` at `to` with the step that begins at `value`.
template <matmul_policy P, format L, format F, format_set W, class X, class Stream>
CATENA_FN void fill_stage(X& x, Stream& stream, const matmul_args& a, const matmul_tile& t,
                          const weight_rows_of_warp<P, F>& weights, std::byte* to, int stage,
                          int value) {
    constexpr int room = weight_room<P, W>;
    constexpr int share = P.columns * warp_size / P.threads;
    std::byte* own_rows = to + x.warp() * P.rows * room;
    std::byte* columns_to = to + weight_bytes<P, W>;

    const int left = copied_columns<L>(t) - x.warp() * share;
    const int columns = left < 0 ? 0 : left < share ? left : share;
    constexpr int step = step_of_tile<P, W>, unit = column_block_values<P, W>;
    constexpr int room_of_block = column_block_bytes<P, W>;
    const int values = a.k - value < step ? a.k - value : step;
    const int blocks = (values + unit - 1) / unit;
    const int of_column =
        (blocks - 1) * copied_bytes<P, L>(unit) + copied_bytes<P, L>(values - (blocks - 1) * unit);

    stream.begin(stage, weight_bytes_of_warp(x, weights, value) + columns * of_column);
    copy_weights_of_warp<room>(x, stream, weights, own_rows, value);
    stream.template copy_rows<step / unit * share, room_of_block>([&](int i) -> copied_row {
        const int block = i / share, column = x.warp() * share + i % share;
        if (block >= blocks || i % share >= columns) return {columns_to, a.x, 0};
        const int row = x_row_of(x, t, column < t.columns ? column : t.columns - 1);
        return {columns_to + (block * P.columns + column) * room_of_block,
                column_block<L>(a, value + block * unit, row),
                copied_bytes<P, L>(values - block * unit)};
    });
    stream.commit(stage);
}

}  // namespace CATENA_NAMESPACE::kernel
