// Which instances an engine needs that knows its models: those that plans of their graphs use.
#pragma once

#include "expand.hpp"

#include <string>
#include <vector>

namespace catena::generator {

/// Keeps, of every set, the rows that a plan of some graph picks, and drops the others. So plans of
/// these graphs stay as they are; other shapes and numbers of columns may be left to the engine.
/// `files`: graph files (docs/graph-format.md). Throws catena::json::error for a file that is none,
/// and std::runtime_error, naming the file, for a graph that uses no row of a set.
void keep_needed(std::vector<instance_set>& sets, const catalogue& all,
                 const std::vector<std::string>& files);

}  // namespace catena::generator
