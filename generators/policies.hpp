// The policies to instantiate: for every arch and computation, with the evidence for each.
#pragma once

#include "policy_change.hpp"

#include <string>
#include <vector>

namespace catena::generator {

/// The rows of one computation on one arch, after `change` if it is not null. Registers are left at
/// 0. Throws, naming the row and the rule, if a policy is one that no kernel can be compiled with
/// or that no problem could run, or stands there twice, and if `change` leaves none.
std::vector<row> rows_for(const arch& target, const computation& computes,
                          policy_change change = nullptr);

/// What `change` prefers among these rows of one computation, by their index.
std::vector<preferred_row> preferences_for(const arch& target, const std::vector<row>& rows,
                                           policy_change change);

/// Do matvecs of these formats come with the norm of their activation inside, too?
bool norm_inside(format_set weights);

/// Is it the policy of a matvec's plain row?
bool is_plain(const policy& p);

/// The policies of a row, the same on every arch but for clusters.
std::vector<policy> row_policies(const arch& target, const row_computation& computes);

/// The policies of a matmul on an arch that copies so: shapes that its shared memory holds.
std::vector<policy> matmul_policies(const arch& target, copy_method copy,
                                    const product_computation& computes);

/// Why no problem at all could run the row on `target`, or an empty string: what the bodies cannot
/// be compiled with (kernel/objection.hpp), and the arch's limits.
std::string objection(const arch& target, const row& r);

}  // namespace catena::generator
