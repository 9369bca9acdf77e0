// Preference: what a row should take for a problem, from bytes, waves, and the instructions and
// waits of a warp. It only orders rows that may all run; a measured median of the same problem
// would replace it.
#pragma once

#include "catena/pick/cost/matmul.hpp"
#include "catena/pick/cost/matvec.hpp"
#include "catena/pick/cost/row.hpp"

namespace CATENA_NAMESPACE {

/// Predicted time of one launch in a graph. The row must satisfy `constraint`. Its blocks are there
/// `head_start_us` before the launch before it ends; 0: it starts when that has ended, as behind a
/// kernel of an engine.
constexpr launch_time predicted_time(const row& r, const row_problem& p, const arch& a,
                                     const launch_shape& shape, const cost_constants& c = {},
                                     double head_start_us = whole_head_start_us) {
    launch_time out = detail::row_time(r, p, a, shape.resident, c);
    out.node = detail::node_us(a, head_start_us);
    return out;
}
constexpr launch_time predicted_time(const row& r, const product_problem& p, const arch& a,
                                     const launch_shape& shape, const cost_constants& c = {},
                                     double head_start_us = whole_head_start_us) {
    launch_time out = p.needs.kind == skeleton::matvec
                          ? detail::matvec_time(r, p, a, shape, c, head_start_us)
                          : detail::matmul_time(r, p, a, shape);
    out.node = detail::node_us(a, head_start_us);
    return out;
}
constexpr launch_time predicted_time(const row& r, const problem& p, const arch& a,
                                     const launch_shape& shape, const cost_constants& c = {},
                                     double head_start_us = whole_head_start_us) {
    return p.visit(
        [&](const auto& own) { return predicted_time(r, own, a, shape, c, head_start_us); });
}

/// Predicted time of one launch, as a sum.
template <class Problem>
constexpr double predicted_us(const row& r, const Problem& p, const arch& a,
                              const launch_shape& shape, const cost_constants& c = {},
                              double head_start_us = whole_head_start_us) {
    return predicted_time(r, p, a, shape, c, head_start_us).us();
}

/// How long the blocks of the next launch are there before one ends that takes `us`: not while it
/// is launched itself and loads its first values.
constexpr double head_start_behind_us(double us, const arch& a, const cost_constants& c = {}) {
    const double begun = a.node_us + c.row_launch_us;
    return us > begun ? us - begun : 0;
}

/// The attainable time, which no launch can beat: an empty node and the bytes at full bandwidth.
constexpr double attainable_us(const problem& p, const arch& a) {
    return a.node_us + static_cast<double>(bytes_of(p)) / a.bytes_per_us;
}

}  // namespace CATENA_NAMESPACE
