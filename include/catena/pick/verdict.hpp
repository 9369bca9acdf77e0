// What the engine's own kernels are faster at, as whole models showed it: by what a problem is, not
// by the model that has it.
#pragma once

#include "catena/pick/config.hpp"
#include "catena/pick/problem.hpp"
#include "catena/pick/row.hpp"

#include <cstdint>

namespace CATENA_NAMESPACE {

/// Columns that a matrix of a problem meets if the ids spread evenly, rounded up.
constexpr std::int64_t columns_of_expert(const product_problem& p) {
    const std::int64_t matrices = matrices_of(p);
    const std::int64_t used = p.columns < matrices ? p.columns : matrices;
    return used > 0 ? (p.columns + used - 1) / used : 0;
}

constexpr bool covers(const engine_verdict& v, const product_problem& p) {
    const std::int64_t columns = columns_of_expert(p);
    return p.expert && p.needs.kind == skeleton::matmul && v.weights.contains(p.needs.weights) &&
           v.least <= columns && columns <= v.most;
}

/// The place of the table's first verdict on a problem, or -1.
constexpr std::int32_t verdict_on(const table& t, const product_problem& p) {
    for (std::int32_t i = 0; i < t.verdict_count; ++i)
        if (covers(t.verdicts[i], p)) return i;
    return -1;
}

/// Do two verdicts speak of the same problems?
constexpr bool same_problems(const engine_verdict& a, const engine_verdict& b) {
    return a.weights == b.weights && a.least == b.least && a.most == b.most;
}

}  // namespace CATENA_NAMESPACE
