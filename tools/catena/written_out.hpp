// A graph as plans see it: with the nodes that a MOE_FFN stands for in its place.
#pragma once

#include "catena/engine/json.hpp"
#include "catena/pick/row.hpp"

namespace catena::tool {

/// Writes out the MOE_FFNs that a plan with this table takes over.
json::graph in_nodes(const json::graph& g, const table& t);

}  // namespace catena::tool
