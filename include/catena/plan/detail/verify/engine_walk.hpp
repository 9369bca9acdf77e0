// A plan that takes over nodes which were written out is walked by the engine's positions.
#pragma once

#include "catena/match/moe_ffn.hpp"
#include "catena/plan/plan.hpp"
#include "catena/plan/step.hpp"

#include <cstddef>

namespace CATENA_NAMESPACE {

namespace proof {

/// Does a plan launch at each node of the engine what its plan of the written-out view launches
/// there, and leave the engine what that leaves?
inline bool same_walk(const written_out& nodes, const plan& inside, const plan& made) {
    const array_view<step> steps = made.steps(), launched = inside.steps();
    const graph_view view = nodes.view();
    if (steps.size() != launched.size() || inside.size() != view.size()) return false;
    for (std::size_t s = 0; s < steps.size(); ++s)
        if (steps[s].row != launched[s].row ||
            steps[s].launch_at != nodes.engine_node(launched[s].launch_at))
            return false;
    std::size_t next = 0;
    for (int i = 0; i < made.size(); ++i)
        for (const step& s : made.steps_at(i))
            if (made.at(i).role != role::launch || &s != &steps[next++] || s.launch_at != i)
                return false;
    for (int i = 0; i < inside.size(); ++i) {
        const bool engines = made.at(nodes.engine_node(i)).role == role::engine;
        if (!launches_nothing(view.node(i).kind) && engines != (inside.at(i).role == role::engine))
            return false;
    }
    return next == steps.size();
}

}  // namespace proof

}  // namespace CATENA_NAMESPACE
