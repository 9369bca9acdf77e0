// Policies with a fault each, chosen by a definition.
#pragma once

#include "catena/pick/row.hpp"

#include <vector>

namespace my_kernels {
inline void policies(const catena::arch&, const catena::computation& computes,
                     std::vector<catena::policy>& all) {
    if (computes.kind != catena::skeleton::row) return;
#if defined(FAULT_odd)
    all.push_back({.threads = 256, .values = 6, .vector = true});
#elif defined(FAULT_twice)
    all.push_back(all.front());
#elif defined(FAULT_none)
    all.clear();
#endif
}
}  // namespace my_kernels
