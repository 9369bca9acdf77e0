// Small random graphs in which a step can hardly stay where it is: experts, residuals and norms in
// any order, in memory that is given out again as soon as it is free. Nothing of them is computed:
// they are planned and replayed, which takes microseconds.
#pragma once

#include "catena/plan/optimize.hpp"
#include "catena/plan/planner.hpp"

#include "catena_test/graph_builder.hpp"

#include <random>
#include <string>
#include <vector>

namespace catena_test {

/// A graph, or a part of one, that owns its tensors.
struct small_graph {
    std::vector<catena::tensor> tensors;
    std::vector<id> nodes;
    std::int64_t workspace_bound = -1;  ///< what optimize promised; -1: it was not asked

    catena::graph_view view() const {
        return {tensors.data(), static_cast<id>(tensors.size()), nodes.data(),
                static_cast<id>(nodes.size())};
    }
};

/// The graph of a seed, and parts of it that an engine might plan on their own. The graph is the
/// first.
std::vector<small_graph> small_graphs(unsigned seed);

/// Empty, or what is wrong with the plan of a graph.
std::string fault_of(const small_graph& g, const catena::plan& plan);

/// The graph with as few nodes as it takes for the plan to be wrong still. What a node that goes
/// would make lies there before.
small_graph shrunk(small_graph g, const catena::planner& planner);

}  // namespace catena_test
