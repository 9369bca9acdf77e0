// Which of two policies is the simpler one: what a tuner keeps when it cannot tell them apart.
#pragma once

#include "catena/kernel/policy.hpp"

#include <tuple>

namespace catena::generator {

/// What makes a policy harder to understand, the worst first: machinery (what is done before,
/// how it multiplies, what warps and blocks share, how bytes are copied, through how many stages,
/// where the activation lies, vectors), then what a thread keeps, then sizes.
constexpr auto complexity(const row_policy& p) {
    return std::tuple(p.vector, p.values, p.rows, p.min_blocks, p.threads);
}
constexpr auto complexity(const matvec_policy& p) {
    return std::tuple(p.routes, p.turns, p.single_wave, p.placement, p.product, p.slices, p.cluster,
                      p.copy, p.stages, p.activation, p.rows, p.columns, p.min_blocks, p.piece,
                      p.threads);
}
constexpr auto complexity(const matmul_policy& p) {
    return std::tuple(p.product, p.slices, p.cluster, p.copy, p.stages, p.rows, p.columns,
                      p.min_blocks, p.piece, p.threads);
}

/// Both are of one skeleton.
constexpr bool simpler(const policy& a, const policy& b) {
    return of_both(a, b,
                   [](const auto& x, const auto& y) { return complexity(x) < complexity(y); });
}

}  // namespace catena::generator
