// An engine of plain loops: runs the nodes of a graph one by one, as ggml defines its ops, on the
// memory that their tensors have. Quantized matmuls read their activation as q8_1.
#pragma once

#include "catena/match/graph.hpp"

namespace catena_test {

/// Does the engine do anything for this node?
inline bool runs(const catena::tensor& t) {
    return !catena::launches_nothing(t.kind) && catena::elements(t) != 0 &&
           (t.flags & catena::flag_compute) != 0;
}

/// Computes node i. Every tensor that it touches has `data`.
void run_node(const catena::graph_view& view, int i);

}  // namespace catena_test
