// A random graph is run node by node, then by its plan, and by plans of its slices: every byte that
// anybody may look at must come out the same.
#pragma once

#include "graph.hpp"

#include "catena/plan/planner.hpp"

#include <string>

namespace catena_test {

/// What was met on the way: the graphs must not be too hard to plan, nor too easy.
struct tally {
    int graphs = 0;
    int steps = 0;         ///< launched
    int members = 0;       ///< matrices in launches of two or more
    int elided = 0;        ///< nodes whose result was never written
    int moved = 0;         ///< nodes done at another position than their own
    int norms = 0;         ///< made by a launch of their readers
    int begun = 0;         ///< launches that begin a norm
    int ended = 0;         ///< launches that end one
    int gated = 0;         ///< launches that gate their activation
    int gated_norms = 0;   ///< of those, that norm it before
    int combined = 0;      ///< launches that add up what experts made, before a norm
    int sums = 0;          ///< the same, that also made it
    int joins = 0;         ///< steps that add a residual to a norm
    int again = 0;         ///< of those, that norm the sum
    int scaled = 0;        ///< row steps with a number that what joins a residual is times
    int scaled_norms = 0;  ///< with one of the norm
    int heads = 0;         ///< launches of several values with heads
    int turned = 0;        ///< launches of matrices that turn their results
    int routes = 0;        ///< launches that send tokens to their experts
    int routed = 0;        ///< launches of experts that find these themselves
    int convolved = 0;     ///< launches that convolve
    int recalled = 0;      ///< launches by the delta rule
    int attended = 0;      ///< launches that attend
    int scanned = 0;       ///< launches that scan state spaces
    int scan_nodes = 0;    ///< nodes that those do
    int scaled_joins = 0;  ///< with one of a norm and its residual
    int copies = 0;        ///< nodes that only copy, done by steps
    int quantizes = 0;     ///< launches that quantize what the engine made
    int tiled = 0;         ///< matmuls of two to eight columns
    int given = 0;         ///< nodes left for the engine's speed
    int given_up = 0;      ///< plans that lacked an address
};

/// Empty, or the first difference and the graph that shows it. `tuned`: by medians invented for the
/// graph.
std::string check_graph(unsigned seed, const catena::table& rows, bool tuned, tally& met);

}  // namespace catena_test
