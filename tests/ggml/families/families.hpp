// The families, by what is peculiar to them.
#pragma once

#include "network.hpp"

#include <cstdint>
#include <string>

namespace catena_test {

// attention.cpp
void latent_attention(network&);        // one vector for all heads, a matrix of each head
void latent_attention_apart(network&);  // K and V of each head are made of that vector
void gated_attention(network&);         // a gate beside Q multiplies what attention makes
void cross_attention(network&);         // encoder and decoder, biases of positions
void sandwich_norms(network&);          // norms before and behind each part
void attention_with_sinks(network&);    // biases of matrices, sinks
void attention_in_one_op(network&);     // FLASH_ATTN_EXT, norms of heads, sinks

// experts.cpp
void experts_of_groups(network&);      // sigmoids, biases of choice, shared expert
void experts_with_biases(network&);    // of each matrix
void experts_in_one_matrix(network&);  // gate and up in one, a gate for the shared expert
void experts_and_gated_one(network&);  // a gate for the shared expert
void experts_weighed_first(network&);  // what goes to an expert is multiplied before
void experts_by_softplus(network&);    // scored by roots of softplus, biases of choice
void experts_by_sigmoid(network&);     // sorted by sigmoids, weighed by a soft max
void experts_with_adapters(network&);

// state.cpp
void mamba(network&);
void mamba_hybrid(network&);     // Mamba2, then attention; scales
void mamba2_of_users(network&);  // up to four sequences, one for each user
void short_convolutions(network&);
void linear_attention(network&);
void convolutions_of_one_row(network&);        // a row of the cache has the states of Q, K and V
void linear_attention_of_users(network&);      // up to four sequences, one for each user
void linear_attention_of_neighbors(network&);  // as in Qwen3-Next: neighboring heads share a key
void linear_attention_of_one_user(network&);   // decays of heads, and of values of a key

// dense.cpp
void one_norm_for_both(network&);  // attention and feed-forward part beside each other
void two_norms_of_one(network&);   // the same with a norm for each, and biases
void norms_behind(network&);       // of what attention and feed-forward part make, and of all heads
void norms_within(network&);       // before the last matrix of each part, and scales of matrices
void encoder(network&);            // LayerNorm with bias behind each sum, GELU, a mean
void gated_encoder(network&);      // one matrix for Q, K and V, one for gate and up
void adapters_and_vectors(network&);  // three adapters a matrix, control vectors
void outputs_everywhere(network&);    // somebody reads values amid the graph

/// "blk.0."
inline std::string layer_name(int i) { return "blk." + std::to_string(i) + "."; }

/// A shared expert, without a gate of its own.
ggml_tensor* shared_expert(network& n, const std::string& layer, ggml_tensor* x);

enum class scores : std::uint8_t { soft_max, sigmoid, sqrt_softplus };
enum class sorted : std::uint8_t { by_score, by_logit, by_sigmoid };

/// How tokens are sent to experts by `mixture`.
struct routing {
    int experts = 8, used = 2;
    int groups = 1, groups_used = 1;
    scores by = scores::soft_max;
    sorted order = sorted::by_score;
    bool bias = false;           ///< of the choice; with soft_max_last, of the logits
    bool soft_max_last = false;  ///< of the chosen
    bool normalized = false;
    float scale = 1;
};
struct chosen_experts {
    ggml_tensor* ids;
    ggml_tensor* weights;
};
chosen_experts choose(network& n, const std::string& layer, ggml_tensor* x, const routing& how);
/// Behind the matrix of the router.
chosen_experts routed(network& n, const std::string& layer, ggml_tensor* logits,
                      const routing& how);
/// What experts make, times their weights, summed.
ggml_tensor* sum_of(network& n, ggml_tensor* made, ggml_tensor* weights);
/// Gate, up and down of the chosen experts.
ggml_tensor* mixture(network& n, const std::string& layer, ggml_tensor* x, const routing& how);

}  // namespace catena_test
