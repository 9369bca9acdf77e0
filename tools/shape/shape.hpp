// A shape that a user names, and the smallest graph that has it: one matmul of an f32 activation,
// with what follows it.
#pragma once

#include "catena/chain/lowered.hpp"
#include "catena/engine/json.hpp"

#include <cstdint>
#include <string>

namespace catena::tool {

struct matmul_shape {
    format weights = format::unknown;
    std::int64_t rows = 0;     ///< of the weight: results in a column
    std::int64_t k = 0;        ///< columns of the weight: values that are added up for a result
    std::int64_t columns = 0;  ///< of the activation: the batch
    epilogue_set epilogue;
};

/// "q4_K,4096,14336,8" and "residual", "bias", "glu", several of them or nothing. Throws
/// std::runtime_error, naming the option and the remedy.
matmul_shape parse_shape(const std::string& matmul, const std::string& epilogue,
                         const char* option = "--matmul");

/// "q4_K, 4096 rows x 14336 columns, 8 batch columns, + residual"
std::string text(const matmul_shape& s);

/// Weights lie in buffer 0, everything else in buffer 1.
json::graph graph_of(const matmul_shape& s);

}  // namespace catena::tool
