// Small transformers built with ggml's own builder, as llama.cpp builds its graphs.
#pragma once

#include "built.hpp"

#include <map>
#include <string>

namespace catena_test {

/// How tokens are sent to experts, as llama.cpp builds it.
enum class router {
    soft_max,         ///< of all; the weights of the chosen are normalized
    soft_max_chosen,  ///< of the chosen; their choice has a bias
    groups            ///< sigmoids; experts are chosen with a bias, of the best groups
};

struct architecture {
    int layers = 2;
    int hidden = 256, heads = 4, kv_heads = 2, head_size = 64, ffn = 512, vocabulary = 96;
    int context = 32;           ///< rows of the caches
    int experts = 0, used = 0;  ///< 0: a dense feed-forward network
    router routing = router::soft_max;
    int groups = 4, groups_used = 2;  ///< of router::groups
    bool factors = false;             ///< of experts, each matrix has one
    int streams = 1;  ///< in which the tokens come where they pass a matrix of each head, if they
                      ///< can be dealt to so many
    bool flash = false;                ///< attention as one op
    bool head_norms = false;           ///< norms of Q and K, per head
    int turn = GGML_ROPE_TYPE_NORMAL;  ///< with sections, a token has four positions
    int turned = 0;                    ///< elements of a head that are turned; 0: all
    bool yarn = false;                 ///< angles are mixed, and K and Q grow
    bool divided = false;              ///< angles are divided by numbers of the model
    bool scaled_q = false;             ///< Q is scaled behind its turn
    ggml_type cache = GGML_TYPE_F16, cells = GGML_TYPE_I64;
    int lora_rank = 0;      ///< 0: none; else an adapter beside Q
    bool precise = false;   ///< Q's activation may not be quantized
    bool one_qkv = false;   ///< Q, K and V are views of one weight, of type `q`
    bool absorbed = false;  ///< Q passes a matrix of each head, as with latent attention
    ggml_type q = GGML_TYPE_Q4_K, k = GGML_TYPE_Q4_K, v = GGML_TYPE_Q6_K, o = GGML_TYPE_Q4_K;
    ggml_type up = GGML_TYPE_Q4_K, down = GGML_TYPE_Q4_K, output = GGML_TYPE_Q6_K;
    /// Weights lie in memory as f32, with the values that those types give them.
    bool decoded = false;
};

/// The weights of every layer, seeded, encoded by ggml, in one buffer of the CPU backend flagged as
/// weights.
class model {
  public:
    explicit model(const architecture& a, unsigned seed = 1);

    const architecture& shape() const { return shape_; }
    ggml_tensor* weight(const std::string& name) const { return weights_.at(name); }
    ggml_backend_buffer_t buffer() const { return buffer_.get(); }

  private:
    architecture shape_;
    ggml_context_ptr context_;
    ggml_backend_buffer_ptr buffer_;
    std::map<std::string, ggml_tensor*> weights_;
    std::map<std::string, ggml_type> types_;

    void add(const std::string& name, ggml_type type, int64_t k, int64_t rows = 1,
             int64_t experts = 1);
    void fill(unsigned seed);
};

/// One graph of a model for `tokens` tokens. Its inputs and caches are allocated and hold seeded
/// numbers, equal for equal seeds; what the nodes write is not allocated.
class graph : public built {
  public:
    graph(const model& m, int tokens, unsigned seed = 2);

  private:
    const model& model_;
    int tokens_;
    ggml_tensor *embeddings_, *positions_, *cells_, *mask_;
    std::map<std::string, ggml_tensor*> caches_;

    void build();
    ggml_tensor* norm(ggml_tensor* x, const std::string& weight);
    ggml_tensor* experts(const std::string& name, ggml_tensor* x, ggml_tensor* ids);
    ggml_tensor* part_of_qkv(const std::string& layer, char part);
    ggml_tensor* attention(ggml_tensor* x, const std::string& layer);
    ggml_tensor* attend(ggml_tensor* q, ggml_tensor* keys, ggml_tensor* values);
    ggml_tensor* heads(ggml_tensor* x, int count, const std::string& norm_weight);
    int positions_of_token() const;
    ggml_tensor* dense(ggml_tensor* x, const std::string& layer);
    ggml_tensor* best_groups(ggml_tensor* choice);
    ggml_tensor* weights_of(ggml_tensor* chosen);
    ggml_tensor* mixture(ggml_tensor* x, const std::string& layer);
    void fill(unsigned seed);
};

}  // namespace catena_test
