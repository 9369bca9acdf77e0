// Which instances an engine needs that knows its models: those that plans of their graphs use.
#pragma once

#include "expand.hpp"

#include "catena/engine/json.hpp"

#include <string>
#include <vector>

namespace catena::generator {

/// Keeps, of every set, the rows that a plan of some graph picks, and drops the others. So plans of
/// these graphs stay as they are; other shapes and numbers of columns may be left to the engine.
/// Throws std::runtime_error, naming the graph, if it uses no row of a set.
void keep_needed(std::vector<instance_set>& sets, const catalogue& all,
                 const std::vector<json::graph>& graphs);

/// The graphs of files (docs/graph-format.md), and of shapes such as "q4_K,4096,14336,1": one
/// matmul each, as `catena bench` takes it. Throws catena::json::error for a file that is none, and
/// std::runtime_error for a shape that is none.
std::vector<json::graph> graphs_of(const std::vector<std::string>& files,
                                   const std::vector<std::string>& shapes = {});

}  // namespace catena::generator
