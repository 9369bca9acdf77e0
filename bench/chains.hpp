// The chains of real models: what a planner found in a graph, one of each kind and shape.
#pragma once

#include "cut.hpp"

#include "catena/pick/row.hpp"

#include <string>
#include <vector>

namespace catena::bench {

struct chain_case {
    std::string model;
    std::string
        name;  ///< "attention input q4_K 4096x4096,1024x4096 q6_K 1024x4096": kind and matrices
    std::vector<std::int32_t> nodes;  ///< positions in the model's graphs, ascending
    int values = 1;                   ///< distinct activations that its matmuls read

    /// The floor counts two launches for every value, one that makes it and one that reads it,
    /// however many there are; a layer's counts one.
    int floor_launches = 2;
};

/// One of each chain of a model with different matrices, in the order of the graph, and of each
/// feed forward network its two halves as one, so that the value between them is quantized on the
/// way. `rows` needs no kernels. Throws std::runtime_error when the graph cannot be planned.
std::vector<chain_case> chains_of(const model& m, const table& rows);

/// A layer from the middle of the model: all nodes that the plan takes over between the attention
/// inputs of two neighbors. What is left to the engine there (attention, the choice of experts)
/// is in no side's time; `excluded` lists its ops.
struct layer_case {
    chain_case what;
    std::string excluded;  ///< "FLASH_ATTN_EXT, ROPE x2, SET_ROWS x2"
};
layer_case layer_of(const model& m, const table& rows);

}  // namespace catena::bench
