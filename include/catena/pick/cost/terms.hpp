// What the predictions of all skeletons have in common.
#pragma once

#include "catena/pick/config.hpp"
#include "catena/pick/cost/constants.hpp"

#include <cstdint>

namespace CATENA_NAMESPACE::detail {

/// The longer of two parts, and what it does not hide of the shorter one.
constexpr double overlapped(double a, double b, const cost_constants& c) {
    const double longer = a > b ? a : b, shorter = a > b ? b : a;
    return longer > 0 ? longer + c.unhidden * shorter * shorter / longer : 0;
}

/// A node of a CUDA graph.
constexpr double node_us(const arch& a, double head_start_us) {
    return a.node_us + (a.dependent_launch && head_start_us <= 0 ? late_node_us : 0);
}

/// Whole units of a count.
constexpr double units(double count, double unit) {
    return static_cast<double>(static_cast<std::int64_t>((count + unit - 1) / unit));
}

}  // namespace CATENA_NAMESPACE::detail
