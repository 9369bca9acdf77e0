// What a graph holds that Catena wants, counted from the graph alone, and how much of it a plan
// does.
#pragma once

#include "catena/match/graph.hpp"
#include "catena/plan/explain.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace catena::tool {

/// A value that quantized matmuls read, RESHAPEs removed.
struct activation {
    std::int32_t tensor = no_tensor;
    std::string producer;               ///< "MUL(RMS_NORM)", "GLU/SWIGLU", "FLASH_ATTN_EXT", ...
    std::vector<std::int32_t> readers;  ///< positions of its MUL_MATs and MUL_MAT_IDs
    bool scaled_norm = false;           ///< it is a norm times a weight leaf
};

/// What is wanted. A MUL counts as norm x weight when one source is the result of an RMS_NORM or
/// NORM and the other a weight leaf.
struct wishes {
    int scaled_norms = 0;                     ///< norm x weight, whoever reads them
    std::vector<activation> activations;      ///< in the order of their first readers
    int matmuls = 0;                          ///< quantized ones, over all activations
    std::vector<std::int32_t> float_weights;  ///< positions of matmuls of f32, f16 or bf16 weights
    int launches_per_node = 0;  ///< one per launching node and one quantize per such matmul
};

wishes count(const graph_view& g);

/// "MUL_MAT", "GLU/SWIGLU".
std::string op_text(const tensor& t);

struct tally {
    int wanted = 0, matmuls = 0, quantized_once = 0;
};

/// Two or more quantized matmuls of one activation and one op kind, and how many of them run in one
/// launch: as the file's memory is, and if the engine had asked for an order before it allocated.
struct group_tally {
    int wanted = 0, planned_before_alloc = 0, planned_after_alloc = 0, partial_after_alloc = 0;
};

/// What of it a plan does.
struct progress {
    int norms_wanted = 0,
        norms_emitted = 0;  ///< activations that are a norm x weight; all readers served
    tally all;
    std::map<std::string, tally> by_producer;
    group_tally groups;
    int float_weights_served = 0;  ///< of wishes::float_weights
    int standalone = 0;            ///< activations quantized by a launch that does nothing else
    int launches = 0;              ///< Catena's, the engine's nodes, the quantizes it still does
    /// The same if the engine fuses its remaining nodes as ggml-cuda.
    int launches_engine_fused = 0;
    std::map<std::string, int> engine;  ///< the engine's launches of those, by op
    std::vector<left_node>
        not_fused;  ///< the plan's, and every wanted matmul that it does not mention
};

progress judge(const graph_view& g, const wishes& w, const explanation& e);

}  // namespace catena::tool
