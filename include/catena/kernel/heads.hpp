// The row skeleton of heads: each head of a token is normed, turned and written by a warp of its
// own, as f32 and into a row of a cache (head_work.hpp). One launch has the heads of several
// values: Q, K and V of a layer, each with operands of its own. It may go on to attention
// (attended_head.hpp). Or a convolution makes the heads (convolved_head.hpp), the gated delta rule
// (recalled_head.hpp), or a state space (scanned_head.hpp).
#pragma once

#include "catena/kernel/attended_head.hpp"
#include "catena/kernel/convolved_head.hpp"
#include "catena/kernel/head_work.hpp"
#include "catena/kernel/objection/row.hpp"
#include "catena/kernel/recalled_head.hpp"
#include "catena/kernel/scanned_head.hpp"

namespace CATENA_NAMESPACE::kernel {

template <row_computation C, row_policy P>
inline constexpr bool heads_possible = !objection_to(C, P);

/// The body. Grid: one block per rows_of_block(P) rows; if heads are convolved, or states make
/// them, per rows_of_block(P, sequences). Attention has equally many clusters, or single blocks,
/// for each head of keys: the first of all heads, then the second. Shared memory as
/// kernel/layout.hpp and kernel/attention_layout.hpp say. `a` follows args.hpp. Each member has k
/// <= head_values(P); if heads are scanned, the numbers of a state for a value take the place of k
/// in this rule and in the next. With vector, k is a multiple of 4 and every row of 16 bytes (of a
/// cache of f16, bf16: of 8).
template <class X, row_policy P, row_computation C>
CATENA_FN void heads_body(X& x, const heads_args& a) {
    static_assert(heads_possible<C, P>, "kernel/objection/row.hpp says why no row can be so");
    x.grid_trigger();
    if constexpr (convolves(C.stages)) {
        convolve_heads<P>(x, a);
    } else if constexpr (recalls(C.stages)) {
        recall_heads<P>(x, a);
    } else if constexpr (scans(C.stages)) {
        scan_heads<P>(x, a);
    } else if constexpr (attends(C.stages)) {
        attend_heads<P, C>(x, a);
    } else {
        const int row = x.block() * rows_of_block(P) + x.warp();
        const head_member& m = member_with(a, row);
        if (row >= a.rows) return x.grid_wait();
        float* const exchange = x.template shared<float>(rows_of_block(P) * head_values(P));
        float* const meeting = x.template shared<float>(quarters);
        head_work<X, P, C>(x, a, m, row - m.first_row, exchange + x.warp() * head_values(P),
                           meeting)
            .run();
    }
}

}  // namespace CATENA_NAMESPACE::kernel
