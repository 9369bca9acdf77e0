// A norm of two launches (args.hpp), beside what makes and multiplies its rows: its weight is on
// its way before the launch that begins it has results, and the launch that ends it makes 1 / rms
// of each column while its columns are copied.
#pragma once

#include "catena/exec/real.hpp"
#include "catena/kernel/args.hpp"
#include "catena/kernel/epilogue.hpp"
#include "catena/kernel/reduce.hpp"
#include "catena/kernel/row/norm.hpp"

#include <cstddef>

namespace CATENA_NAMESPACE::kernel {

/// Brings the weight of a norm that the block begins to L2, where it is when results are there.
template <class X>
CATENA_FN void prefetch_begun_weight(X& x, const matvec_band& b) {
    const float* weight = b.member->begun_weight;
    const int row = b.first_row + x.thread() * warp_size;  // a line of L2 has as many floats
    if (weight != nullptr && row < b.end_row) x.prefetch(weight + row);
}

/// Ends a norm that was begun, if x is one: a warp makes 1 / rms of a column and puts it `behind`
/// the columns. All warps meet before they read it.
template <class X>
CATENA_FN void end_norm(X& x, const matvec_args& a, std::byte* behind, int columns) {
    if (a.begun_squares == nullptr) return;
    const auto of_row = static_cast<int>(static_cast<unsigned>(a.k) / 32u);
    CATENA_NO_UNROLL
    for (int c = x.warp(); c < columns; c += x.warps()) {
        real sum{0};
        CATENA_NO_UNROLL
        for (int i = x.lane(); i < of_row; i += warp_size)
            sum = sum + x.load(a.begun_squares + c * of_row + i);
        sum = warp_sum(x, sum);
        if (x.lane() == 0) x.store(reinterpret_cast<float*>(behind) + c, over_rms(sum, a.k, a.eps));
    }
}

/// What the products of a column lack of a norm that was begun.
template <class X>
CATENA_FN real over_rms_of(X& x, const std::byte* behind, int column) {
    return x.load(reinterpret_cast<const float*>(behind) + column);
}

}  // namespace CATENA_NAMESPACE::kernel
