// What a plan achieved, in numbers, and what counts as a fallback.
//
// A fallback is something that ran slower than Catena means it to, although more instances, another
// catalogue or better aligned memory could change that:
//   - A quantized matmul that the graph computes was left to the engine. It is no fallback if the
//     engine's own kernels were measured to be faster.
//   - A step runs on the plain row of its computation, the slow one that takes any shape and any
//     alignment, though the table has others.
//   - A step runs without clusters, because the device has no room for those that it would have.
//   - The table is not the GPU's own: an older architecture's set stands in.
// A group that runs in more than one launch is counted but is no fallback: what divides it is the
// memory that the engine gave its members. Nothing is a fallback when the options say `enabled =
// false`; a chain that is switched off does leave matmuls to the engine.
#pragma once

#include "catena/match/reason.hpp"

#include <cstdint>

namespace CATENA_NAMESPACE {

inline constexpr int reason_count = sizeof(reason_words) / sizeof(worded);

/// Matmuls are MUL_MATs and MUL_MAT_IDs with a quantized weight. A group is two or more of one kind
/// that read the same activation.
struct plan_counters {
    std::int32_t matmuls = 0;
    std::int32_t served = 0;
    std::int32_t left[reason_count] = {};  ///< matmuls left to the engine, by reason

    std::int32_t groups_whole = 0;    ///< all members in one launch
    std::int32_t groups_partial = 0;  ///< some members in one launch, at least two
    std::int32_t groups_split = 0;    ///< no two in one launch

    std::int32_t steps = 0;
    std::int32_t plain_rows = 0;        ///< steps on a plain row though the table has others
    std::int32_t clusters_refused = 0;  ///< steps without the clusters that they would have
    bool stand_in = false;              ///< another architecture's instances serve
    bool proved = false;                ///< options::verify: the plan was proved right
    bool dropped = false;  ///< plan or graph was wrong, so all is left to the engine; state() says
                           ///< which and why

    /// All groups of two or more matmuls.
    std::int32_t groups() const { return groups_whole + groups_partial + groups_split; }
    /// How often something fell back, as said above.
    std::int32_t fallbacks() const {
        const std::int32_t meant = left[static_cast<int>(reason::engine_faster)] +
                                   left[static_cast<int>(reason::engine_faster_in_models)];
        return matmuls - served - meant + plain_rows + clusters_refused + (stand_in ? 1 : 0);
    }
};

}  // namespace CATENA_NAMESPACE
