// An engine on ggml's CPU backend that runs a graph node by node and hands to Catena what a plan
// takes over, on the host executor; and the oracle that judges every value it produced.
#pragma once

#include "built.hpp"

#include "catena/engine/ggml.hpp"
#include "catena/exec/host.hpp"
#include "catena/runtime.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace catena_test {

/// How the engine runs a graph.
struct mode {
    catena::options options;
    const catena::engine_model* engine = nullptr;  ///< null: ggml-cuda
    int slice = 0;                                 ///< nodes per slice; 0: the graph in one
    int cut = 0;             ///< nodes of the first of two slices; 0: the graph is not cut there
    bool tells_uses = true;  ///< does the engine hand over use counts of the whole graph?
    bool optimize = false;   ///< is the graph reordered before it is allocated?
    bool dear_launches = false;  ///< do launches cost so much that readers make their norms?
};

struct outcome {
    std::string failure;  ///< empty: every launch succeeded
    int steps = 0;
    int covered = 0;       ///< nodes that steps took over
    int elided = 0;        ///< nodes whose result was never written
    int matmuls = 0;       ///< quantized matmuls that steps took over
    int launches = 0;      ///< of steps that compute quantized matmuls
    int norms_inside = 0;  ///< of those: launches that make their norm
    int gates_inside = 0;  ///< of those: launches that gate their activation
    int gated_norms = 0;   ///< of those: launches that norm its heads before
    int two_sums = 0;   ///< of those: launches that add two values to a result, one after the other
    int row_steps = 0;  ///< steps of the row skeleton
    int convolutions = 0;    ///< of those: steps that convolve
    int states_picked = 0;   ///< of those: steps that pick the states themselves
    int attended = 0;        ///< steps that attend
    int attended_nodes = 0;  ///< nodes that these took over
    int recalls = 0;         ///< steps that recall
    int recalled_nodes = 0;  ///< nodes that these took over
    int scans = 0;           ///< steps that scan
    int scanned_nodes = 0;   ///< nodes that these took over
    std::size_t memory = 0;  ///< bytes that ggml-alloc needs for the nodes
    std::int64_t workspace = 0, workspace_bound = 0;  ///< bound: as optimize says
    std::vector<std::vector<std::byte>>
        produced;                  ///< per node, right after it was made; empty: elided, or a view
    std::vector<bool> by_step;     ///< per node: a step wrote it, not the engine
    std::vector<bool> by_matmul;   ///< per node: that step computes quantized matmuls
    std::vector<std::byte> state;  ///< caches and the like, at the end
};

/// Allocates the graph with ggml-alloc, which reuses memory, and runs it. At the end each output
/// must still hold what was made.
outcome run(built& g, const mode& how);

struct verdict {
    int engine_nodes = 0;  ///< compared, bit by bit
    int step_nodes = 0;    ///< compared within the tolerance of their op
    std::string wrong;     ///< the first node out of tolerance; empty: none
};

/// Runs `reference`, the same graph with memory of its own for every tensor, on ggml's CPU backend:
/// each node on the very values that `run` had, so that each is judged alone. What the engine
/// computed must be equal bit by bit, since a step that overwrites what a later node reads shows
/// there; what a row step makes must come to an NMSE of 1e-7, what a step of matmuls makes, with
/// all that it does to their results, to 5e-4, as in ggml's own tests. Of a GELU and of a
/// FLASH_ATTN_EXT of a step the truth is the formula in double; what ggml makes of the latter has
/// the errors of f16. Of a GATED_DELTA_NET or an SSM_SCAN of a step the values are judged: the
/// states behind them are what a CPY leaves. A result that was never written cannot be put in the
/// reference's place: the errors of its matmuls, whose NMSEs add up, are allowed to whoever read
/// it. What lasts beyond the graph must be equal at the end.
verdict judge(built& reference, const outcome& seen);

/// Normalized mean squared error of f32 values.
double nmse(const std::vector<std::byte>& expected, const std::vector<std::byte>& found);

/// The bytes of node i after ggml's CPU backend has run the whole graph by itself.
std::vector<std::byte> computed_by_ggml(built& g, int node);

}  // namespace catena_test
