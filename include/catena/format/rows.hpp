// Where the rows of a tensor start, and how long a row of an activation is in each format.
#pragma once

#include "catena/format/format.hpp"

#include <cstdint>

namespace CATENA_NAMESPACE {

/// Where one logical row starts: rows are numbered r = i1 + n1 * (i2 + n2 * i3).
struct row_strides {
    std::int64_t nb1 = 0, nb2 = 0, nb3 = 0;
};

inline constexpr int q8_1_bytes = info(format::q8_1).block_bytes;  ///< float d, int8 q[32]

/// Blocks of a q8_1 row of k elements, its padding included.
CATENA_FN constexpr std::int64_t q8_1_row_blocks(std::int64_t k) {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(stored_elements(format::q8_1, k)) /
                                     32);
}
CATENA_FN constexpr std::int64_t q8_1_row_bytes(std::int64_t k) {
    return q8_1_row_blocks(k) * q8_1_bytes;
}

/// Bytes of an activation row as a group reads it: the layouts of int8 are as large as q8_1; of fp8
/// scales count too. Of what is quantized, none is larger than bf16_mma and f16_mma.
constexpr std::int64_t activation_row_bytes(format f, std::int64_t k) {
    if (f == format::fp8_group) return row_bytes(f, k) + scale_bytes(f, k);
    if (in_mma_blocks(f)) return row_bytes(f, stored_elements(f, k));
    return f == format::f32 ? 4 * k : q8_1_row_bytes(k);
}

}  // namespace CATENA_NAMESPACE
