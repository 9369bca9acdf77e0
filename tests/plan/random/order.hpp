// Orders of a graph that give the same results.
#pragma once

#include "catena_test/graph_builder.hpp"

#include <random>
#include <vector>

namespace catena_test {

/// The nodes in another order: whoever reads what another writes stays behind it. In one of `wild`
/// places a node follows that is not the first which could.
std::vector<id> reordered(graph_builder& g, unsigned wild, std::mt19937& random);

}  // namespace catena_test
