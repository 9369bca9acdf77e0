// What the cost model says of a whole step of a graph. Nothing of it is measured.
#pragma once

#include "catena/arch/arch.hpp"
#include "catena/match/graph.hpp"
#include "catena/pick/cost.hpp"
#include "catena/plan/explain.hpp"
#include "catena/plan/plan.hpp"

#include <cstdint>
#include <vector>

namespace catena::tool {

struct prediction {
    double steps_us = 0;  ///< the sum of the predicted times of Catena's steps
    /// What the time of each step is made of by the cost model alone, also where a median says it.
    std::vector<launch_time> of_steps;
    double engine_us = 0;  ///< the floor of the engine's nodes, one by one
    int engine_launches = 0;
    /// Both, with pick/cost.hpp's cold_stream_share of the bandwidth for what was not measured.
    double cold_us = 0;
    std::int64_t tokens = 1;  ///< computed at once

    launch_time by_model() const;  ///< the sum over steps
    double total_us() const { return steps_us + engine_us; }
    double tokens_per_s() const {
        return total_us() > 0 ? 1e6 * static_cast<double>(tokens) / total_us() : 0;
    }
};

/// Predicts a plan, of which this is the explanation, for the GPU with these limits.
prediction predict(const graph_view& g, const plan& planned, const explanation& explained,
                   const arch& target);

}  // namespace catena::tool
