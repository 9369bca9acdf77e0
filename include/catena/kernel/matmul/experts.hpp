// Which columns picked an expert: the ids are counted once, then tile after tile of those that
// match is listed in shared memory. Columns keep their sequence, whatever the threads do.
#pragma once

#include "catena/kernel/matmul/tile.hpp"

namespace CATENA_NAMESPACE::kernel {

/// No expert: the columns whose id is none of a.experts matrices.
inline constexpr int no_expert = -1;

/// Shared memory for the columns of a tile: which they are, the activation rows that they read; and
/// an int for each warp.
struct column_lists {
    int* column;
    int* x_row;
    int* warp_total;
};

/// Calls visit(column, token, slot) for the columns first .. end - 1 that picked `expert`.
template <class X, class Visit>
CATENA_FN void each_match(X& x, const matmul_args& a, int expert, int first, int end,
                          const Visit& visit) {
    int token = first / a.slots, slot = first % a.slots;
    CATENA_NO_UNROLL
    for (int column = first; column < end; ++column) {
        const auto* ids = reinterpret_cast<const std::byte*>(a.ids) + token * a.ids_nb1;
        const int id = x.load(reinterpret_cast<const std::int32_t*>(ids) + slot);
        if (expert == no_expert ? id < 0 || id >= a.experts : id == expert)
            visit(column, token, slot);
        if (++slot == a.slots) slot = 0, ++token;
    }
}

/// The columns that a block goes through: of experts, those that picked one. Each thread knows how
/// many of its share of all columns match, and how many do before it.
struct column_source {
    int expert;
    int first, end;
    int before, own, total;

    /// All threads of the block.
    template <class X>
    CATENA_FN static column_source of(X& x, const matmul_args& a, int expert,
                                      const column_lists& lists) {
        if (a.ids == nullptr)  // those of one token, which has the number of the block's expert
            return {expert, 0, 0, 0, 0, has_experts(a) ? (expert + 1) * a.slots : a.columns};
        const int share = (a.columns + x.threads() - 1) / x.threads();
        const auto at_most = [&a](int n) { return n < a.columns ? n : a.columns; };
        column_source c{
            expert, at_most(x.thread() * share), at_most((x.thread() + 1) * share), 0, 0, 0};
        each_match(x, a, expert, c.first, c.end, [&c](int, int, int) { ++c.own; });
        int sum = c.own;
        CATENA_UNROLL
        for (int mask = 1; mask < warp_size; mask *= 2) {  // of 2 * mask lanes, the upper half adds
            const int other = x.shuffle_xor(sum, mask);
            if ((x.lane() & mask) != 0) c.before += other;
            sum += other;
        }
        x.sync();
        if (x.lane() == 0) x.store(lists.warp_total + x.warp(), sum);
        x.sync();
        for (int w = 0; w < x.warps(); ++w) {
            const int matches = x.load(lists.warp_total + w);
            if (w < x.warp()) c.before += matches;
            c.total += matches;
        }
        return c;
    }

    /// The tile of up to `most` columns from t.first_column on; false: there are none. All threads.
    template <class X>
    CATENA_FN bool list(X& x, const matmul_args& a, matmul_tile& t, int most,
                        const column_lists& lists) const {
        const int left = total - t.first_column;
        t.columns = left < most ? left : most;
        if (left <= 0 || a.ids == nullptr) return left > 0;
        t.column = lists.column;
        t.x_row = lists.x_row;
        if (before < t.first_column + t.columns && before + own > t.first_column) {
            int rank = before - t.first_column;
            each_match(x, a, expert, first, end, [&](int column, int token, int slot) {
                if (rank >= 0 && rank < t.columns) {
                    x.store(lists.column + rank, column);
                    x.store(lists.x_row + rank, token * a.x_slots + (a.x_slots == 1 ? 0 : slot));
                }
                ++rank;
            });
        }
        x.sync();
        return true;
    }
};

}  // namespace CATENA_NAMESPACE::kernel
