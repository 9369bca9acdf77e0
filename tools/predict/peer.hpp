// What ggml-cuda would launch for a graph: a model of its fusion rules, for comparison. It fuses
// consecutive nodes only. State of the rules: ggml 0.25.3 (October 2026).
#pragma once

#include "catena/match/graph.hpp"

#include <map>
#include <string>
#include <vector>

namespace catena::tool {

struct peer_launches {
    int launches = 0;                  ///< kernels, quantizes included
    int quantizes = 0;                 ///< of those
    std::map<std::string, int> by_op;  ///< the others, by the op of their first node
    std::map<std::string, int> fused;  ///< how often each rule applied
};

/// True for a node that costs at least one launch: it computes something and has elements.
bool launches(const tensor& t);

/// True for a MUL_MAT or MUL_MAT_ID whose matrix is a quantized leaf: ggml-cuda quantizes its
/// activation.
bool reads_quantized(const graph_view& g, const tensor& t);

/// Launches of the nodes for which `mine` is false, as ggml-cuda fuses them; a node that is mine
/// separates its neighbors. An empty `mine` is all false.
///
/// Rules: RMS_NORM MUL [ADD] or [ROPE [VIEW SET_ROWS]]; RMS_NORM SCALE; ROPE VIEW SET_ROWS; two
/// matmuls [with biases or, of nvfp4, scales] and a GLU of them, one column (experts: up to 8
/// tokens); a matmul and an ADD [or, of nvfp4, a MUL], one column (experts: the same); the routing
/// of a mixture of experts, and the sum of what they made times their weights; runs of ADD or of
/// MUL; SSM_CONV [ADD] SILU; SILU, SIGMOID or SOFTPLUS and MUL; RELU SQR; SCALE TANH SCALE;
/// GATED_DELTA_NET and the copy of its state.
peer_launches count_peer(const graph_view& g, const std::vector<bool>& mine = {});

}  // namespace catena::tool
