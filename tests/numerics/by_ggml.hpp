// The same computations by ggml's CPU backend.
#pragma once

#include "machine.hpp"

#include "catena/format/format.hpp"

#include <vector>

namespace catena_test {

/// [rows, columns], column by column; empty if ggml does not know the weights' format.
std::vector<float> product_by_ggml(catena::format weights, const bytes& weight, int k, int rows,
                                   const std::vector<float>& x);

/// A norm and its MUL with a weight.
std::vector<float> norm_by_ggml(const std::vector<float>& x, const std::vector<float>& weight,
                                float eps);

/// What is left of rows of k values after ggml has quantized them to q8_1.
std::vector<float> quantized_by_ggml(const std::vector<float>& x, int k);

}  // namespace catena_test
