// What the predictions of all skeletons have in common.
#pragma once

#include "catena/pick/config.hpp"
#include "catena/pick/cost/constants.hpp"

#include <cstdint>

namespace CATENA_NAMESPACE {

/// What the time of a launch is made of, in us.
struct launch_time {
    double node = 0;     ///< a node of a CUDA graph
    double bytes = 0;    ///< what memory or L2 takes: a matvec's weights in whole bands, else all
    double columns = 0;  ///< of what memory does not hide, the share of the wait for columns
    double warps = 0;    ///< of that, the share of the rest of its busiest warp's way
    double results = 0;  ///< behind the products: quantizing, sums over slots, meetings of clusters

    constexpr double us() const { return node + bytes + columns + warps + results; }
};

}  // namespace CATENA_NAMESPACE

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

/// What a warp of a routing takes to compare an expert of each lane with four others, 11
/// instructions that mostly wait for one another, and what their issue takes on an SM. Predicted.
inline constexpr double ranked_quad_us = 0.015, issued_quad_us = 0.0015;

/// Sorting a token's experts by `team` threads.
constexpr double routing_us(std::int64_t experts, int team, double warps) {
    const auto quads = static_cast<double>(quotient(experts + 3, 4));
    const auto own = static_cast<double>(quotient(experts + team - 1, team));
    const double issued = warps * issued_quad_us;
    return quads * own * (issued > ranked_quad_us ? issued : ranked_quad_us);
}

}  // namespace CATENA_NAMESPACE::detail
