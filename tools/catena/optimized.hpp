// A graph as it would be if its engine had asked `optimize` first: in that order, its memory dealt
// anew.
#pragma once

#include "catena/engine/json.hpp"

namespace catena::tool {

/// Memory goes to the first gap that fits, as ggml's allocator does it: results live until their
/// last reader, and an op that works element by element takes its dying source's place. A graph
/// without memory is only reordered. Throws failure when there is no order.
json::graph optimized(const json::graph& g);

}  // namespace catena::tool
