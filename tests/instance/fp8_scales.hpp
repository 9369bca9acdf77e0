// The scales of fp8 weights, as checkpoints have them.
#pragma once

#include <cstdint>

namespace catena_test {

/// The part of a tensor that shares a scale.
enum class fp8_scaling : std::uint8_t { tensor, row, square };

/// Scales of a tensor of rows x k, in the order of rows, then columns. The last squares of a row or
/// a column may hold less. A square has 128 rows, and 128 values of each or 384.
struct fp8_scales {
    fp8_scaling scaling;
    std::int64_t rows, k, side = 128;

    constexpr std::int64_t count() const { return at(rows - 1, k - 1) + 1; }

    /// The index of the scale of a value.
    constexpr std::int64_t at(std::int64_t row, std::int64_t column) const {
        if (scaling == fp8_scaling::tensor) return 0;
        if (scaling == fp8_scaling::row) return row;
        return row / 128 * across() + column / side;
    }
    constexpr std::int64_t across() const { return (k + side - 1) / side; }
};

}  // namespace catena_test
