// Weights of a later launch, which blocks of a row step bring to L2. A decode step's norm keeps one
// SM busy and leaves memory idle; these blocks use the other SMs.
#pragma once

#include "catena/kernel/args.hpp"

#include <cstddef>
#include <cstdint>

namespace CATENA_NAMESPACE::kernel {

/// What block `part` of those behind all rows does: the grid has blocks_of() each. They are
/// constants, so it need not wait for the kernels before; but each block does, or the next kernel
/// would overlap the one before.
template <class X>
CATENA_FN void bring_ahead(X& x, const row_args& a, int part) {
    int which = 0;
    CATENA_NO_UNROLL
    for (; part >= blocks_of(a.ahead[which]); ++which) part -= blocks_of(a.ahead[which]);
    const weights_ahead& w = a.ahead[which];
    const int begin = part * ahead_block_bytes, left = w.bytes - begin;
    x.prefetch_constants(static_cast<const std::byte*>(w.first) + begin,
                         left < ahead_block_bytes ? left : ahead_block_bytes);
    x.grid_wait();
}

}  // namespace CATENA_NAMESPACE::kernel
