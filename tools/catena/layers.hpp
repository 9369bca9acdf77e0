// The layers of a graph, found by its structure alone: the stretch of ops and shapes that repeats.
// Names play no part. What comes out covers every node once, in order.
#pragma once

#include "catena/match/graph.hpp"
#include "catena/plan/explain.hpp"

#include <cstdint>
#include <vector>

namespace catena::tool {

/// The nodes [first, last).
struct layer {
    std::int32_t first = 0, last = 0;
    int kind = 0;          ///< equal: the same ops and shapes. Numbered by first appearance
    int variant = 0;       ///< equal within a kind: also the same weight formats, steps and reasons
    int like = -1;         ///< the kind that it would be without a few inserted nodes; -1: none
    bool repeats = false;  ///< its kind, or the one that it is like, occurs more than once
};

/// `not_fused` is what a report lists: the plan's own list or a longer one.
std::vector<layer> find_layers(const graph_view& g, const explanation& plan,
                               const std::vector<left_node>& not_fused);

}  // namespace catena::tool
