// An operand of a warpgroup's multiplication: rows of 128 bytes of K in shared memory, swizzled,
// and the descriptor that names it to the tensor cores. As the PTX ISA has them under "Asynchronous
// Warpgroup Level Matrix Shared Memory Layout": K-major, 128-byte swizzle.
#pragma once

#include "catena/config.hpp"

#include <cstdint>

namespace CATENA_NAMESPACE::exec {

inline constexpr int warpgroup_threads = 128;
inline constexpr int swizzled_row_bytes = 128;
/// Bytes of the pattern, eight rows, which starts at a multiple of them.
inline constexpr int swizzle_bytes = 1024;

/// Where chunk `chunk` (16 bytes) of row `row` lies; from eight rows to the next are `stride`
/// bytes.
CATENA_FN constexpr int swizzled(int row, int chunk, int stride = swizzle_bytes) {
    return row / 8 * stride + row % 8 * swizzled_row_bytes + (chunk ^ row % 8) * 16;
}

/// 32 bytes of K of all rows from an address of shared memory on.
struct wgmma_operand {
    std::uint64_t bits;

    CATENA_FN static constexpr wgmma_operand at(std::uint32_t address, int stride) {
        constexpr std::uint64_t swizzle_of_128 = 1;
        return {(address & 0x3ffffu) >> 4 | static_cast<std::uint64_t>(stride) / 16 << 32 |
                swizzle_of_128 << 62};
    }
    /// The same so many bytes further, rows or K.
    CATENA_FN constexpr wgmma_operand operator+(int bytes) const {
        return {bits + static_cast<std::uint64_t>(bytes / 16)};
    }
    CATENA_FN constexpr std::uint32_t address() const {
        return static_cast<std::uint32_t>(bits & 0x3fffu) << 4;
    }
    CATENA_FN constexpr std::uint32_t stride() const {
        return static_cast<std::uint32_t>(bits >> 32 & 0x3fffu) << 4;
    }
};

}  // namespace CATENA_NAMESPACE::exec
