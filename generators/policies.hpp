// The policies to instantiate: for every arch and computation, with the evidence for each.
#pragma once

#include "catena/pick/row.hpp"

#include <string>
#include <vector>

namespace catena::generator {

/// The rows of one computation on one arch. Registers are left at 0.
std::vector<row> rows_for(const arch& target, const computation& computes);

/// Why `numbers` cannot run on `target`, or an empty string.
std::string objection(const arch& target, const computation& computes, const policy& numbers);

}  // namespace catena::generator
