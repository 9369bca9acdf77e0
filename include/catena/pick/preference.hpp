// Which rows of a table may be picked.
#pragma once

#include "catena/config.hpp"

#include <cstdint>

namespace CATENA_NAMESPACE {

/// What an engine prefers; by default each row that can run may be picked.
struct preference {
    /// A column of 1 to 8 (of experts: a token) gets the bits that it gets alone, and a column of 9
    /// or more those that it gets among any other 9 or more: whatever its launch computes beside
    /// it.
    bool same_bits = false;
    bool measured_only = false;  ///< rows without a measurement are not picked
    /// Matvecs and matmuls with more columns (of experts: tokens) have no row; 0: any number. An
    /// engine that wants decode steps alone says 8.
    std::int64_t max_columns = 0;
    /// Kernels may start before the one before them is done, where the GPU can do so.
    bool dependent_launch = true;
};

}  // namespace CATENA_NAMESPACE
