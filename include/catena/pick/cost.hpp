// Preference: what a row should take for a problem, from bytes, waves, and the instructions and
// waits of a warp. It only orders rows that may all run; a measured median of the same problem
// would replace it.
#pragma once

#include "catena/pick/cost/matmul.hpp"
#include "catena/pick/cost/matvec.hpp"
#include "catena/pick/cost/row.hpp"

#include <cstdint>

namespace CATENA_NAMESPACE {

/// Predicted time of one launch in a graph. The row must satisfy `constraint`; an SM holds `per_sm`
/// of its blocks.
constexpr double predicted_us(const row& r, const row_problem& p, const arch& a, std::int32_t,
                              int per_sm, const cost_constants& c = {}) {
    return a.node_us + detail::row_us(r, p, a, per_sm, c);
}
constexpr double predicted_us(const row& r, const product_problem& p, const arch& a,
                              std::int32_t band, int per_sm, const cost_constants& c = {}) {
    return a.node_us + (p.needs.kind == skeleton::matvec
                            ? detail::matvec_us(r, p, a, band, per_sm, c)
                            : detail::matmul_us(r, p, a, band, per_sm));
}

constexpr double predicted_us(const row& r, const problem& p, const arch& a, std::int32_t band,
                              int per_sm, const cost_constants& c = {}) {
    return p.visit([&](const auto& own) { return predicted_us(r, own, a, band, per_sm, c); });
}

/// The attainable time, which no launch can beat: an empty node and the bytes at full bandwidth.
constexpr double attainable_us(const problem& p, const arch& a) {
    return a.node_us + static_cast<double>(bytes_of(p)) / a.bytes_per_us;
}

}  // namespace CATENA_NAMESPACE
