// Sizes that the bodies and the pick must agree on: shared memory, padding, accumulation order.
// Written once, here.
#pragma once

#include "catena/config.hpp"
#include "catena/pick/policy.hpp"

#include <cstdint>

namespace catena {

inline constexpr int warp_size = 32;

/// What the piece of a policy is a multiple of: no block of any format is longer.
inline constexpr int piece_unit = 256;

inline constexpr int q8_1_bytes = info(format::q8_1).block_bytes;  ///< half d, half s, int8 q[32]

CATENA_FN constexpr std::int64_t round_up(std::int64_t n, std::int64_t unit) {
    return (n + unit - 1) / unit * unit;
}

/// Blocks of a q8_1 row of k elements, its padding included.
CATENA_FN constexpr std::int64_t q8_1_row_blocks(std::int64_t k) {
    return stored_elements(format::q8_1, k) / 32;
}
CATENA_FN constexpr std::int64_t q8_1_row_bytes(std::int64_t k) {
    return q8_1_row_blocks(k) * q8_1_bytes;
}

/// A column in shared memory: 16 bytes more than its row, so that eight columns' same word lies in
/// eight banks.
CATENA_FN constexpr std::int64_t shared_column_bytes(std::int64_t k) {
    return q8_1_row_bytes(k) + 16;
}

/// Bytes that one weight row's slice takes in a stage. The copy starts at the 16-byte boundary at
/// or below the slice and ends at the one at or above its end, so up to 15 bytes more on either
/// side. An odd number of 16 bytes: the same word of eight rows lies in eight banks.
constexpr std::int64_t slice_bytes(const policy& p, format f) {
    return (round_up(row_bytes(f, p.piece), 16) + 16) | 16;
}

constexpr std::int64_t stage_bytes(const policy& p, format_set weights) {
    std::int64_t widest = 0;
    for (int f = 1; weights.bits >> f != 0; ++f) {
        const auto id = static_cast<format>(f);
        if (weights.has(id) && slice_bytes(p, id) > widest) widest = slice_bytes(p, id);
    }
    return p.rows * widest;
}

/// Results of one column that a block quantizes in its epilogue, at most: they meet in shared
/// memory.
inline constexpr int max_requantized_rows = 128;

/// Dynamic shared memory of a launch, in bytes. `used`: what of its epilogue the launch is asked
/// for.
constexpr std::int64_t shared_bytes(const computation& c, const policy& p, std::int64_t k,
                                    std::int64_t columns, epilogue_set used = {}) {
    const std::int64_t warps = p.threads / warp_size;
    if (c.kind == skeleton::row) return warps * 4;
    const std::int64_t barrier = 8;
    std::int64_t bytes = warps * p.stages * (stage_bytes(p, c.weights) + barrier);
    if (p.activation == activation_source::shared) bytes += columns * shared_column_bytes(k);
    if (used.has(epilogue_part::quantize)) bytes += columns * max_requantized_rows * 4;
    return round_up(bytes, 16);
}

/// The accumulation order of an instance. A row's sum of squares depends on how its elements are
/// dealt to threads; a matvec's dot on the inner product alone.
constexpr std::uint32_t order_of(const computation& c, const policy& p) {
    return c.kind == skeleton::row ? static_cast<std::uint32_t>(p.threads)
                                   : 1 + static_cast<std::uint32_t>(p.product);
}

}  // namespace catena
