// A graph in words, for tests that fail.
#pragma once

#include "catena/match/graph.hpp"
#include "catena/plan/plan.hpp"

#include <string>

namespace catena_test {

/// One line per node: what it is, what it reads, where it lies.
std::string describe(const catena::graph_view& view);

/// One line per step: where it is launched, what it covers, what it reads and writes of the
/// workspace.
std::string describe(const catena::plan& plan);

}  // namespace catena_test
