// Policies of one's own, beside Catena's: the norm also gets a block of 384 threads.
#pragma once

#include "catena/pick/row.hpp"

#include <vector>

namespace my_kernels {
inline void policies(const catena::arch& target, const catena::computation& computes,
                     std::vector<catena::policy>& all) {
    if (target.compute_capability >= 90 && computes.kind == catena::skeleton::row)
        all.push_back(catena::row_policy{.threads = 384, .values = 8, .vector = true});
}
}  // namespace my_kernels
