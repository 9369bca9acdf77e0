// The launches of single instances: every row of a set, on the shapes of decode steps.
#pragma once

#include "cut.hpp"
#include "measure.hpp"

#include "catena/pick/row.hpp"

#include <vector>

namespace catena::bench {

/// A row on a shape. What is launched rotates through `arena`, whose first half holds inputs and
/// whose second half takes outputs.
struct row_case {
    int row = -1;
    timed what;
    double predicted_us = 0;  ///< by the cost model
    products plain;           ///< of many columns of f16 or bf16: what a library would multiply
};

/// All shapes that a row of the table serves. `l2_bytes` is the cache that rotation has to exceed.
std::vector<row_case> row_cases(const table& rows, int row, const buffer& arena, double l2_bytes);

}  // namespace catena::bench
