// Weights of a later launch, which blocks of a row step bring to L2. A decode step's norm keeps one
// SM busy and leaves memory idle; these blocks use the other SMs.
#pragma once

#include "catena/kernel/args.hpp"

#include <cstddef>
#include <cstdint>

namespace catena::kernel {

inline constexpr int ahead_thread_bytes = 4096;  ///< that a thread asks for at a time

/// What block `part` of those behind all rows does. They are constants, so it need not wait for
/// the kernels before; but each block does, or the next kernel would overlap the one before.
template <class X>
CATENA_FN void bring_ahead(X& x, const row_args& a, int part) {
    int which = 0;
    CATENA_NO_UNROLL
    for (; which + 1 < max_weights_ahead && part >= blocks_of(a.ahead[which]); ++which)
        part -= blocks_of(a.ahead[which]);
    const auto* first = static_cast<const std::byte*>(a.ahead[which].first);
    const std::int64_t begin = std::int64_t{part} * ahead_block_bytes;
    const std::int64_t left = a.ahead[which].bytes - begin;
    const int mine = left < ahead_block_bytes ? static_cast<int>(left) : ahead_block_bytes;
    CATENA_NO_UNROLL
    for (int at = x.thread() * ahead_thread_bytes; at < mine;
         at += x.threads() * ahead_thread_bytes)
        x.prefetch_constants(first + begin + at,
                             mine - at < ahead_thread_bytes ? mine - at : ahead_thread_bytes);
    x.grid_wait();
}

}  // namespace catena::kernel
