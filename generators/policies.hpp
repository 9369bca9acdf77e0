// The policies to instantiate: for every arch and computation, with the evidence for each.
#pragma once

#include "catena/pick/row.hpp"

#include <string>
#include <vector>

namespace catena::generator {

/// The rows of one computation on one arch. Registers are left at 0.
std::vector<row> rows_for(const arch& target, const computation& computes);

/// Do matvecs of these formats come with the norm of their activation inside, too?
bool norm_inside(format_set weights);

/// The policies of a matmul on an arch that copies so: shapes that its shared memory holds.
std::vector<policy> matmul_policies(const arch& target, copy_method copy,
                                    const computation& computes);

/// Why no problem at all could run the row on `target`, or an empty string: what the bodies cannot
/// be compiled with (kernel/objection.hpp), and the arch's limits.
std::string objection(const arch& target, const row& r);

}  // namespace catena::generator
