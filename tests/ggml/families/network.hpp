// What families of models are written with: weights, caches and inputs that exist once they are
// named, and the parts that families share, in the order in which llama.cpp builds them.
#pragma once

#include "built.hpp"

#include <ggml-alloc.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace catena_test {

/// The weights of one family. A format is drawn for each matrix, with `variant` as the seed, unless
/// all have one.
class weight_store {
  public:
    explicit weight_store(unsigned variant, ggml_type only = GGML_TYPE_COUNT);

    ggml_backend_buffer_t buffer() const { return buffer_.get(); }
    /// A matrix of a drawn format, or one for each expert. It is made when it is first asked for.
    ggml_tensor* matrix(const std::string& name, std::int64_t k, std::int64_t rows,
                        std::int64_t experts = 1);
    /// A tensor of f32, of numbers of `mean` and a tenth to either side times `spread`.
    ggml_tensor* numbers(const std::string& name, std::vector<std::int64_t> shape, float mean,
                         float spread);

  private:
    unsigned variant_;
    ggml_type only_;  // GGML_TYPE_COUNT: any
    ggml_context_ptr context_;
    ggml_backend_buffer_ptr buffer_;
    ggml_tallocr place_;
    std::map<std::string, ggml_tensor*> made_;

    ggml_tensor* make(const std::string& name, ggml_type type,
                      const std::vector<std::int64_t>& shape, float mean, float spread);
};

constexpr int hidden = 256, heads = 4, kv_heads = 2, head_size = 64, feed_forward = 512;
constexpr int context_length = 96, past = 16;  // cells of a cache, and those before the first token

/// One graph of a family for `tokens` tokens. All inputs lie among the nodes.
class network : public built {
  public:
    using family = void(network&);
    network(weight_store& w, family& draw, int tokens);

    void write_inputs() override;

    // What families begin and end with.

    int tokens() const { return tokens_; }
    std::int64_t token_count() const { return tokens_; }
    ggml_context* c() const { return nodes_.get(); }
    weight_store& of() const { return weights_of_; }
    ggml_tensor* embeddings() { return values("embeddings", hidden, tokens_); }
    /// Expands the graph by a node and what it reads.
    ggml_tensor* expand(ggml_tensor* t);
    /// Such a node, whose value somebody reads after the graph.
    ggml_tensor* output(ggml_tensor* t);
    /// The head of a model: a norm, the rows of the last tokens and a matrix.
    void logits(ggml_tensor* x);

    // Inputs, by name. Each exists once.

    ggml_tensor* values(const std::string& name, std::int64_t ne0, std::int64_t ne1 = 1);
    ggml_tensor* numbers(const std::string& name, ggml_type type, const std::vector<float>& values,
                         std::int64_t ne0);
    ggml_tensor* ids(const std::string& name, const std::vector<std::int32_t>& values);
    ggml_tensor* positions();
    ggml_tensor* mask();
    /// The tokens whose logits are asked for: every second, and the last.
    ggml_tensor* asked_for();
    /// Lasts beyond the graph.
    ggml_tensor* cache(const std::string& name, ggml_type type, std::int64_t k, std::int64_t rows);

    // Parts.

    ggml_tensor* rms_norm(ggml_tensor* x, const std::string& name);
    ggml_tensor* layer_norm(ggml_tensor* x, const std::string& name);
    /// `adapters` of the name are added where the family has said how many it has.
    ggml_tensor* matmul(const std::string& name, ggml_tensor* x, std::int64_t rows);
    ggml_tensor* biased(const std::string& name, ggml_tensor* x, std::int64_t rows);
    ggml_tensor* rope(ggml_tensor* x, int turned = head_size, int kind = 0);
    ggml_tensor* swiglu(const std::string& layer, ggml_tensor* x, int ffn = feed_forward);
    /// Q, K and V of one norm, turned, stored, and what attention makes of them.
    ggml_tensor* attention(const std::string& layer, ggml_tensor* x);
    /// Rows for the tokens are stored in a cache: its view of [head, heads, cells].
    ggml_tensor* stored(ggml_tensor* cache, ggml_tensor* rows);
    /// Attention of a turned Q to what is stored behind K and V are: [head, heads, tokens] each.
    ggml_tensor* attend_cached(const std::string& layer, ggml_tensor* q, ggml_tensor* k,
                               ggml_tensor* v, float scale);
    /// Attention to the given K and V. A matrix of each head may follow, as latent attention has.
    ggml_tensor* attend(ggml_tensor* q, ggml_tensor* k, ggml_tensor* v, ggml_tensor* mask,
                        float scale, ggml_tensor* of_heads = nullptr, ggml_tensor* bias = nullptr);

    int adapters = 0;    ///< beside each matrix
    bool flash = false;  ///< attention as one op
    float softcap = 0;   ///< of what soft max reads
    bool sinks = false;  ///< of attention

  private:
    weight_store& weights_of_;
    int tokens_;
    ggml_tallocr place_;
    std::map<std::string, ggml_tensor*> inputs_, caches_;
    std::map<std::string, std::vector<std::uint8_t>> written_;

    ggml_tensor* input(const std::string& name, ggml_type type, std::int64_t ne0, std::int64_t ne1,
                       std::vector<std::uint8_t> bytes);
};

}  // namespace catena_test
