// What orders launches: the wait with which a kernel begins that starts before those before it are
// done. The proof asks the same engine_model as the planner, since the engine alone says which of
// its kernels wait; the test `llama_waits` reads ggml-cuda's sources again.
#pragma once

#include "catena/match/ggml_cuda.hpp"
#include "catena/plan/detail/verify/graph.hpp"
#include "catena/plan/options.hpp"
#include "catena/plan/plan.hpp"
#include "catena/plan/step.hpp"

#include <cstdint>

namespace CATENA_NAMESPACE::proof {

/// A step that starts early behind a kernel that may be done before those before it.
struct unordered_step {
    std::int32_t step = -1, node = -1;  ///< -1: there is none
};

/// A step that starts early waits for the kernel before it alone. If an engine's kernels may be
/// done before those before them, there must be none of that kind since the step before, and that
/// one must be of the same stream.
inline unordered_step starts_too_early(const graph_view& view, const plan& made,
                                       const engine_order& engine) {
    if (!made.asked().engine_may_skip_wait) return {};
    bool all_wait = false;
    std::int32_t stream = 0;
    for (std::int32_t i = 0; i < view.node_count; ++i) {
        if (made.at(i).role == role::engine && engine.acts(i))
            all_wait = all_wait && view.node(i).stream == stream &&
                       engine_of(view).waits(view, i, made.asked().engine_version);
        for (const step& s : made.steps_at(i)) {
            if (s.config.dependent && (!all_wait || view.node(i).stream != stream))
                return {static_cast<std::int32_t>(&s - made.steps().begin()), i};
            all_wait = true;
            stream = view.node(i).stream;
        }
    }
    return {};
}

}  // namespace CATENA_NAMESPACE::proof
