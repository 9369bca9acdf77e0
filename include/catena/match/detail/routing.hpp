// What a launch of routing finds in a graph: the nodes from the logits of a layer's experts to the
// experts of each token and their weights.
#pragma once

#include "catena/chain/routing.hpp"
#include "catena/match/detail/value.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace CATENA_NAMESPACE {

/// One routing. Its nodes are at most SOFT_MAX or SIGMOID, an ADD of a bias, the nodes that limit a
/// token to groups of experts, ARGSORT, GET_ROWS, SOFT_MAX, SUM_ROWS, CLAMP, DIV and SCALE. Nodes
/// are given by their positions.
struct routing {
    obstacle why;                   ///< reason why no launch takes it
    std::int32_t x = no_tensor;     ///< logits [experts, tokens]
    std::int32_t bias = no_tensor;  ///< [experts], added to the scores for the choice; or no_tensor
    routing_numbers numbers;
    std::int64_t experts = 0, tokens = 0;
    std::int32_t sort = -1;           ///< the ARGSORT of all experts, whose result is written
    std::int32_t weigh = -1;          ///< the last node of the weights, which are written
    std::vector<std::int32_t> nodes;  ///< positions of all nodes, in ascending order

    bool has(std::int32_t node) const {
        return std::find(nodes.begin(), nodes.end(), node) != nodes.end();
    }
    bool writes(std::int32_t node) const { return node == sort || node == weigh; }
};

}  // namespace CATENA_NAMESPACE
