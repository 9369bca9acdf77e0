// Launches in which a block has the same part of all sequences, a warp for each. Its warps have
// read that part of the states before one of them replaces a state, and no other block reads or
// writes it. So states may be replaced where they lie, and a sequence may read the state that
// another one replaces.
#pragma once

#include "catena/exec/real.hpp"
#include "catena/kernel/args.hpp"
#include "catena/kernel/layout.hpp"

namespace CATENA_NAMESPACE::kernel {

/// Here all warps of a block have read their states, and none has replaced one.
template <class X>
CATENA_FN void meet_over_states(X& x, int sequences) {
    if (sequences > 1) x.sync();
}

/// work(row of the warp). A warp without a row comes to the barrier, too.
template <row_policy P, class X, class Work>
CATENA_FN void with_row_of_sequence(X& x, const heads_args& a, int sequences, const Work& work) {
    const int rows = rows_of_block(P, sequences), row = x.block() * rows + x.warp();
    if (x.warp() < rows && row < a.rows) return work(row);
    x.grid_wait();
    meet_over_states(x, sequences);
}

/// work(head, first, sequence) for the values_of_warp values of a head, from `first` on, that the
/// warp makes of a sequence's state.
template <row_policy P, class X, class Work>
CATENA_FN void with_values_of_sequence(X& x, const heads_args& a, int sequences, const Work& work) {
    with_row_of_sequence<P>(x, a, sequences, [&](int row) {
        const int part = quotient(row, sequences);
        const int of_head = quotient(a.member[0].k, values_of_warp), head = quotient(part, of_head);
        work(head, (part - head * of_head) * values_of_warp, row - part * sequences);
    });
}

}  // namespace CATENA_NAMESPACE::kernel
