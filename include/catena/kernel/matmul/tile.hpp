// What a block of a matmul works on: rows of one matrix, and the columns that are multiplied with
// them.
#pragma once

#include "catena/config.hpp"
#include "catena/kernel/args.hpp"
#include "catena/kernel/divider.hpp"
#include "catena/kernel/layout.hpp"

namespace CATENA_NAMESPACE::kernel {

// The sizes of kernel/layout.hpp, as constants that a body may use on any executor.
template <matmul_policy P>
inline constexpr int rows_of_tile = tile_rows(P);
template <matmul_policy P>
inline constexpr int slices_of_tile = tile_slices(P);
template <matmul_policy P, format_set W>
inline constexpr int step_of_tile = step_values(P, W);
template <matmul_policy P>
inline constexpr int finished_of_slice = finished_floats(P);
template <matmul_policy P>
inline constexpr int columns_stride = finished_stride(P);
template <matmul_policy P, format_set W>
inline constexpr int warp_unpacked_bytes = unpacked_bytes(P, W);
template <matmul_policy P, format_set W>
inline constexpr int column_block_values = tile_block_values(P, W);
template <matmul_policy P, format_set W>
inline constexpr int column_block_bytes = tile_block_bytes(P, W);
template <matmul_policy P, format_set W>
inline constexpr int weight_room = tile_row_bytes(P, W);
template <matmul_policy P, format_set W>
inline constexpr int weight_bytes = tile_weight_bytes(P, W);
template <matmul_policy P, format_set W>
inline constexpr int stage_bytes_of = tile_stage_bytes(P, W);
template <matmul_policy P, format_set W>
inline constexpr int piece_bytes_of = tile_piece_bytes(P, W);
template <matmul_policy P>
inline constexpr int operand_bytes_of = tile_operand_bytes(P);
template <matmul_policy P, format_set W>
inline constexpr int ring_bytes = static_cast<int>(tile_ring_bytes(P, W));

/// The values of K that a block multiplies.
struct part_of_k {
    int first, values;

    /// All values of K, or, if the blocks of a cluster share a tile, the block's part: whole
    /// pieces.
    template <matmul_policy P, class X>
    CATENA_FN static part_of_k of(X& x, int k) {
        if constexpr (P.cluster > 1) {
            const int pieces = (k + P.piece - 1) / P.piece, blocks = x.cluster_blocks();
            const int share = quotient(pieces + blocks - 1, blocks) * P.piece;
            const int first = x.cluster_rank() * share, left = k - first;
            // What is shuffled is known to be equal in the warp: wgmma do not wait for each other
            // then.
            return {x.shuffle(first, 0), x.shuffle(left < share ? left : share, 0)};
        }
        return {0, k};
    }
};

struct matmul_tile {
    const matvec_member* member;
    int expert;            ///< number of the matrix; dense: 0
    int token;             ///< token that has the columns, if there are no ids; dense: 0
    int first_row, rows;   ///< rows of the result
    bool pairs;            ///< the tile's second half are rows of `up`
    int first_column = 0;  ///< first column of a dense matrix
    int columns = 0;       ///< columns of the tile
    /// Experts: the numbers of the tile's columns, and of the activation rows that these read. A
    /// dense matrix has null in both: its columns and rows are numbered from first_column on.
    const int* column = nullptr;
    const int* x_row = nullptr;
};

/// The number of a tile's column `i` among the columns of the launch.
template <class X>
CATENA_FN int column_of(X& x, const matmul_tile& t, int i) {
    return t.column == nullptr ? t.first_column + i : x.load(t.column + i);
}
template <class X>
CATENA_FN int x_row_of(X& x, const matmul_tile& t, int i) {
    return t.x_row == nullptr ? t.first_column + i : x.load(t.x_row + i);
}

/// The member and rows of row tile `tile` of the launch, in matrix `expert` of an expert member.
template <matmul_policy P>
CATENA_FN matmul_tile tile_at(const matmul_args& a, int tile, int expert) {
    int m = 0;
    while (m + 1 < a.members && tile >= a.member[m + 1].first_band) ++m;
    const matvec_member& member = a.member[m];
    const bool pairs = member.up != nullptr;
    const int results = pairs ? rows_of_tile<P> / 2 : rows_of_tile<P>;
    const int first = (tile - member.first_band) * results, left = member.rows - first;
    return {.member = &member,
            .expert = expert,
            .token = expert,
            .first_row = first,
            .rows = left < results ? left : results,
            .pairs = pairs};
}

}  // namespace CATENA_NAMESPACE::kernel
