// The same computations by ggml's CPU backend.
#pragma once

#include "machine.hpp"

#include "catena/chain/rotation.hpp"
#include "catena/chain/routing.hpp"
#include "catena/format/format.hpp"

#include <cstdint>
#include <vector>

namespace catena_test {

struct ggml_product {
    catena::format weights;
    int k, rows;
    const bytes &weight, &up;               ///< with an `up`, weight gates it: SWIGLU
    const std::vector<float>& norm_weight;  ///< not empty: of the norm that is multiplied
    float eps;
};

/// [rows, columns], column by column; empty if ggml does not know the weights' format.
std::vector<float> product_by_ggml(const ggml_product& p, const std::vector<float>& x);

/// A norm and its MUL with a weight.
std::vector<float> norm_by_ggml(const std::vector<float>& x, const std::vector<float>& weight,
                                float eps);

/// A layer norm, its MUL with a weight and its ADD of a bias.
std::vector<float> layer_norm_by_ggml(const std::vector<float>& x, const std::vector<float>& weight,
                                      const std::vector<float>& bias, float eps);

std::vector<float> l2_norm_by_ggml(const std::vector<float>& x, int k, float eps);

/// A norm of each head, with its weight, and ROPE. x: [k, heads, tokens].
std::vector<float> heads_by_ggml(const std::vector<float>& x, const std::vector<float>& weight,
                                 int heads, const std::vector<std::int32_t>& positions,
                                 const catena::rope_numbers& turn);

/// The weights of the experts that each token is sent to. x: [experts, tokens], `bias` is added
/// before experts are chosen, if it is not empty.
std::vector<float> routing_by_ggml(const std::vector<float>& x, int experts,
                                   const std::vector<float>& bias,
                                   const catena::routing_numbers& numbers);

/// What is left of rows of k values after ggml has quantized them to q8_1.
std::vector<float> quantized_by_ggml(const std::vector<float>& x, int k);

}  // namespace catena_test
