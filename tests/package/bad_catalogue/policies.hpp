// Policies with a fault each; the environment says which.
#pragma once

#include "catena/pick/row.hpp"

#include <cstdlib>
#include <string_view>
#include <vector>

namespace my_kernels {
inline void policies(const catena::arch&, const catena::computation& computes,
                     std::vector<catena::policy>& all) {
    const std::string_view fault = std::getenv("FAULT");
    if (computes.kind() != catena::skeleton::row) return;
    if (fault == "odd")
        all.push_back(catena::row_policy{.threads = 256, .values = 6, .vector = true});
    if (fault == "twice") all.push_back(all.front());
    if (fault == "none") all.clear();
}
}  // namespace my_kernels
