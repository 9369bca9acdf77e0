#include "model.hpp"

#include "numbers.hpp"

#include <ggml-alloc.h>
#include <ggml-cpu.h>

#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

namespace catena_test {
namespace {

ggml_context_ptr context_of(std::size_t tensors) {
    const std::size_t bytes = tensors * ggml_tensor_overhead() + ggml_graph_overhead();
    return ggml_context_ptr(ggml_init({bytes, nullptr, true}));
}

std::string layer_name(int layer) { return "blk." + std::to_string(layer) + "."; }

}  // namespace

model::model(const architecture& a, unsigned seed) : shape_(a), context_(context_of(1024)) {
    for (int i = 0; i < a.layers; ++i) {
        const std::string layer = layer_name(i);
        const std::int64_t q_size = a.heads * a.head_size;
        const std::int64_t kv_size = a.kv_heads * a.head_size;
        add(layer + "attn_norm", GGML_TYPE_F32, a.hidden);
        if (a.one_qkv) {
            add(layer + "qkv", a.q, a.hidden, q_size + 2 * kv_size);
        } else {
            add(layer + "q", a.q, a.hidden, q_size);
            add(layer + "k", a.k, a.hidden, kv_size);
            add(layer + "v", a.v, a.hidden, kv_size);
        }
        add(layer + "o", a.o, q_size, a.hidden);
        if (a.head_norms) {
            add(layer + "q_norm", GGML_TYPE_F32, a.head_size);
            add(layer + "k_norm", GGML_TYPE_F32, a.head_size);
        }
        if (a.lora_rank > 0) {
            add(layer + "lora_a", GGML_TYPE_F32, a.hidden, a.lora_rank);
            add(layer + "lora_b", GGML_TYPE_F32, a.lora_rank, q_size);
        }
        if (a.absorbed) add(layer + "absorb", GGML_TYPE_Q8_0, a.head_size, a.head_size, a.heads);
        add(layer + "ffn_norm", GGML_TYPE_F32, a.hidden);
        const int copies = a.experts > 0 ? a.experts : 1;
        if (a.experts > 0) add(layer + "router", GGML_TYPE_F32, a.hidden, a.experts);
        if (a.routing != router::soft_max) add(layer + "router_bias", GGML_TYPE_F32, a.experts);
        add(layer + "gate", a.up, a.hidden, a.ffn, copies);
        add(layer + "up", a.up, a.hidden, a.ffn, copies);
        add(layer + "down", a.down, a.ffn, a.hidden, copies);
        for (const char* name : {"gate", "up", "down"})
            if (a.factors) add(layer + name + "_factors", GGML_TYPE_F32, a.experts);
    }
    if (a.divided) add("factors", GGML_TYPE_F32, (a.turned > 0 ? a.turned : a.head_size) / 2);
    add("output_norm", GGML_TYPE_F32, a.hidden);
    add("output", a.output, a.hidden, a.vocabulary);
    buffer_.reset(
        ggml_backend_alloc_ctx_tensors_from_buft(context_.get(), ggml_backend_cpu_buffer_type()));
    ggml_backend_buffer_set_usage(buffer_.get(), GGML_BACKEND_BUFFER_USAGE_WEIGHTS);
    fill(seed);
}

void model::add(const std::string& name, ggml_type type, int64_t k, int64_t rows, int64_t experts) {
    const ggml_type in_memory = shape_.decoded ? GGML_TYPE_F32 : type;
    ggml_tensor* t = ggml_new_tensor_3d(context_.get(), in_memory, k, rows, experts);
    ggml_set_name(t, name.c_str());
    types_[name] = type;
    weights_[name] = t;
}

void model::fill(unsigned seed) {
    std::mt19937 engine(seed);
    for (const auto& [name, t] : weights_) {
        const bool near_one = name.find("norm") != std::string::npos || name == "factors";
        const float scale = near_one ? 0.5f : std::sqrt(3.0f / static_cast<float>(t->ne[0]));
        std::vector<float> values = numbers(engine, ggml_nelements(t), scale);
        if (near_one)
            for (float& x : values) x += 1.0f;
        const ggml_type type = types_.at(name);
        std::vector<std::uint8_t> bytes = encoded(type, values, t->ne[0]);
        if (t->type != type) {
            ggml_get_type_traits(type)->to_float(bytes.data(), values.data(), ggml_nelements(t));
            bytes = encoded(t->type, values, t->ne[0]);
        }
        ggml_backend_tensor_set(t, bytes.data(), 0, bytes.size());
    }
}

graph::graph(const model& m, int tokens, unsigned seed) : model_(m), tokens_(tokens) {
    state_ = context_of(64);
    nodes_ = context_of(GGML_DEFAULT_GRAPH_SIZE);
    weights_ = m.buffer();
    const architecture& a = model_.shape();
    const auto input = [this](const char* name, ggml_tensor* t) {
        ggml_set_name(t, name);
        ggml_set_input(t);
        return t;
    };
    ggml_context* c = state_.get();
    embeddings_ = input("embeddings", ggml_new_tensor_2d(c, GGML_TYPE_F32, a.hidden, tokens));
    positions_ =
        input("positions", ggml_new_tensor_1d(c, GGML_TYPE_I32, tokens * positions_of_token()));
    cells_ = input("cells", ggml_new_tensor_1d(c, a.cells, tokens));
    mask_ = input("mask", ggml_new_tensor_2d(c, GGML_TYPE_F16, a.context, tokens));
    for (int i = 0; i < a.layers; ++i)
        for (const char* which : {"keys", "values"}) {
            const std::string name = layer_name(i) + which;
            caches_[name] = ggml_new_tensor_2d(c, a.cache, a.kv_heads * a.head_size, a.context);
            ggml_set_name(caches_[name], name.c_str());
        }
    state_buffer_.reset(
        ggml_backend_alloc_ctx_tensors_from_buft(c, ggml_backend_cpu_buffer_type()));
    ggml_backend_buffer_clear(state_buffer_.get(), 0);
    fill(seed);
    build();
}

void graph::fill(unsigned seed) {
    std::mt19937 engine(seed);
    const architecture& a = model_.shape();
    const int past = a.context / 2;
    const std::vector<float> x = numbers(engine, ggml_nelements(embeddings_), 1.0f);
    ggml_backend_tensor_set(embeddings_, x.data(), 0, ggml_nbytes(embeddings_));
    for (int i = 0; i < tokens_; ++i) {
        for (int p = 0; p < positions_of_token(); ++p) {
            const std::int32_t position = past + i + 5 * p;
            const int at = p * tokens_ + i;
            ggml_backend_tensor_set(positions_, &position, static_cast<std::size_t>(at) * 4, 4);
        }
        const std::int64_t cell = past + i;  // its first bytes are those of an i32
        const std::size_t size = ggml_type_size(cells_->type);
        ggml_backend_tensor_set(cells_, &cell, static_cast<std::size_t>(i) * size, size);
    }
    std::vector<ggml_fp16_t> mask;
    for (int i = 0; i < tokens_; ++i)
        for (int j = 0; j < a.context; ++j)
            mask.push_back(ggml_fp32_to_fp16(j <= past + i ? 0.0f : -INFINITY));
    ggml_backend_tensor_set(mask_, mask.data(), 0, ggml_nbytes(mask_));
    for (const auto& [name, cache] : caches_) {
        const auto bytes =
            encoded(cache->type, numbers(engine, ggml_nelements(cache), 1.0f), cache->ne[0]);
        ggml_backend_tensor_set(cache, bytes.data(), 0, bytes.size());
    }
}

void graph::build() {
    ggml_context* c = nodes_.get();
    graph_ = ggml_new_graph(c);
    ggml_tensor* x = embeddings_;
    for (int i = 0; i < model_.shape().layers; ++i) {
        const std::string layer = layer_name(i);
        x = ggml_add(c, attention(norm(x, layer + "attn_norm"), layer), x);
        ggml_tensor* normed = norm(x, layer + "ffn_norm");
        x = ggml_add(c, model_.shape().experts > 0 ? mixture(normed, layer) : dense(normed, layer),
                     x);
    }
    ggml_tensor* logits = ggml_mul_mat(c, model_.weight("output"), norm(x, "output_norm"));
    ggml_set_name(logits, "logits");
    ggml_set_output(logits);
    ggml_build_forward_expand(graph_, logits);
}

ggml_tensor* graph::norm(ggml_tensor* x, const std::string& weight) {
    return ggml_mul(nodes_.get(), ggml_rms_norm(nodes_.get(), x, 1e-6f), model_.weight(weight));
}

ggml_tensor* graph::heads(ggml_tensor* x, int count, const std::string& norm_weight) {
    const architecture& a = model_.shape();
    x = ggml_reshape_3d(nodes_.get(), x, a.head_size, count, tokens_);
    if (a.head_norms) x = norm(x, norm_weight);
    const int turned = a.turned > 0 ? a.turned : a.head_size;
    ggml_tensor* factors = a.divided ? model_.weight("factors") : nullptr;
    const float scale = a.yarn ? 0.125f : 1.0f, mix = a.yarn ? 1.0f : 0.0f;
    int sections[4] = {turned / 8, turned / 8, turned / 8, turned / 8};
    if (positions_of_token() == 4)
        return ggml_rope_multi(nodes_.get(), x, positions_, factors, turned, sections, a.turn, 4096,
                               10000.0f, scale, mix, 1.0f, 32.0f, 1.0f);
    return ggml_rope_ext(nodes_.get(), x, positions_, factors, turned, a.turn, 4096, 10000.0f,
                         scale, mix, 1.0f, 32.0f, 1.0f);
}

int graph::positions_of_token() const {
    return (model_.shape().turn & GGML_ROPE_TYPE_MROPE) != 0 ? 4 : 1;
}

/// The weight of Q, K or V, `part`, or the rows of the one weight that are that.
ggml_tensor* graph::part_of_qkv(const std::string& layer, char part) {
    const architecture& a = model_.shape();
    if (!a.one_qkv) return model_.weight(layer + part);
    ggml_tensor* all = model_.weight(layer + "qkv");
    const int first[] = {0, a.heads, a.heads + a.kv_heads};
    const int index = part == 'q' ? 0 : part == 'k' ? 1 : 2;
    const auto before = static_cast<std::size_t>(first[index] * a.head_size);
    return ggml_view_2d(nodes_.get(), all, a.hidden,
                        std::int64_t{index == 0 ? a.heads : a.kv_heads} * a.head_size, all->nb[1],
                        before * all->nb[1]);
}

ggml_tensor* graph::attention(ggml_tensor* x, const std::string& layer) {
    ggml_context* c = nodes_.get();
    const architecture& a = model_.shape();
    ggml_tensor* q = ggml_mul_mat(c, part_of_qkv(layer, 'q'), x);
    if (a.precise) q->op_params[3] = GGML_PREC_F32;  // as ggml_prec_set_src does
    if (a.absorbed) {
        const int streams = tokens_ % a.streams == 0 ? a.streams : 1;
        q = ggml_reshape_4d(c, q, a.head_size, a.heads, tokens_ / streams, streams);
        q = ggml_permute(c, q, 0, 2, 1, 3);
        q = ggml_mul_mat(c, model_.weight(layer + "absorb"), q);
        q = ggml_cont_2d(c, ggml_permute(c, q, 0, 2, 1, 3), a.head_size * a.heads, tokens_);
    }
    if (a.lora_rank > 0) {
        ggml_tensor* low = ggml_mul_mat(c, model_.weight(layer + "lora_a"), x);
        ggml_tensor* delta = ggml_mul_mat(c, model_.weight(layer + "lora_b"), low);
        q = ggml_add(c, q, ggml_scale(c, delta, 0.5f));
    }
    q = heads(q, a.heads, layer + "q_norm");
    if (a.scaled_q) q = ggml_scale(c, q, 0.5f);
    ggml_tensor* k =
        heads(ggml_mul_mat(c, part_of_qkv(layer, 'k'), x), a.kv_heads, layer + "k_norm");
    ggml_tensor* v = ggml_mul_mat(c, part_of_qkv(layer, 'v'), x);

    // As llama.cpp does: Q, K and V stand in the graph before the caches are written.
    for (ggml_tensor* t : {q, v, k}) ggml_build_forward_expand(graph_, t);
    ggml_tensor* flat_k = ggml_reshape_2d(c, k, a.kv_heads * a.head_size, tokens_);
    ggml_tensor* keys = ggml_set_rows(c, caches_.at(layer + "keys"), flat_k, cells_);
    ggml_tensor* values = ggml_set_rows(c, caches_.at(layer + "values"), v, cells_);
    ggml_build_forward_expand(graph_, keys);
    ggml_build_forward_expand(graph_, values);
    ggml_tensor* mixed = attend(q, caches_.at(layer + "keys"), caches_.at(layer + "values"));
    return ggml_mul_mat(c, model_.weight(layer + "o"), mixed);
}

ggml_tensor* graph::attend(ggml_tensor* q, ggml_tensor* keys, ggml_tensor* values) {
    ggml_context* c = nodes_.get();
    const architecture& a = model_.shape();
    const auto by_head = [&](ggml_tensor* cache) {
        const std::size_t head_bytes = ggml_row_size(cache->type, a.head_size);
        ggml_tensor* view =
            ggml_view_3d(c, cache, a.head_size, a.kv_heads, a.context, head_bytes, cache->nb[1], 0);
        return ggml_permute(c, view, 0, 2, 1, 3);
    };
    const float scale = 1.0f / std::sqrt(static_cast<float>(a.head_size));
    q = ggml_permute(c, q, 0, 2, 1, 3);
    ggml_tensor* k = by_head(keys);
    ggml_tensor* v = by_head(values);
    if (a.flash) {
        ggml_tensor* mask = ggml_cast(c, mask_, GGML_TYPE_F16);
        ggml_tensor* out = ggml_flash_attn_ext(c, q, k, v, mask, scale, 0.0f, 0.0f);
        return ggml_reshape_2d(c, out, a.heads * a.head_size, tokens_);
    }
    ggml_tensor* weights = ggml_soft_max_ext(c, ggml_mul_mat(c, k, q), mask_, scale, 0.0f);
    ggml_tensor* out = ggml_mul_mat(c, ggml_cont(c, ggml_transpose(c, v)), weights);
    return ggml_cont_2d(c, ggml_permute(c, out, 0, 2, 1, 3), a.heads * a.head_size, tokens_);
}

ggml_tensor* graph::dense(ggml_tensor* x, const std::string& layer) {
    ggml_context* c = nodes_.get();
    ggml_tensor* gate = ggml_mul_mat(c, model_.weight(layer + "gate"), x);
    ggml_tensor* up = ggml_mul_mat(c, model_.weight(layer + "up"), x);
    return ggml_mul_mat(c, model_.weight(layer + "down"), ggml_swiglu_split(c, gate, up));
}

/// What the picked experts make, each times its factor if they have some.
ggml_tensor* graph::experts(const std::string& name, ggml_tensor* x, ggml_tensor* ids) {
    ggml_context* c = nodes_.get();
    ggml_tensor* y = ggml_mul_mat_id(c, model_.weight(name), x, ids);
    if (!model_.shape().factors) return y;
    const int count = model_.shape().experts;
    ggml_tensor* factors = ggml_reshape_3d(c, model_.weight(name + "_factors"), 1, count, 1);
    factors = ggml_repeat_4d(c, factors, 1, count, tokens_, 1);
    return ggml_mul(c, y, ggml_get_rows(c, factors, ids));
}

/// The choice of experts, of all groups but the best minus infinity.
ggml_tensor* graph::best_groups(ggml_tensor* choice) {
    ggml_context* c = nodes_.get();
    const architecture& a = model_.shape();
    const int size = a.experts / a.groups;
    ggml_tensor* all = ggml_reshape_3d(c, choice, size, a.groups, tokens_);
    ggml_tensor* best = ggml_get_rows(c, ggml_reshape_4d(c, all, 1, size, a.groups, tokens_),
                                      ggml_argsort_top_k(c, all, 2));
    best = ggml_sum_rows(c, ggml_reshape_3d(c, best, 2, a.groups, tokens_));
    best = ggml_argsort_top_k(c, ggml_reshape_2d(c, best, a.groups, tokens_), a.groups_used);
    ggml_tensor* none = ggml_fill(c, all, -INFINITY);
    ggml_tensor* masked = ggml_set_rows(c, none, ggml_get_rows(c, all, best), best);
    return ggml_reshape_2d(c, masked, a.experts, tokens_);
}

/// Weights of the scores of chosen experts.
ggml_tensor* graph::weights_of(ggml_tensor* chosen) {
    ggml_context* c = nodes_.get();
    const architecture& a = model_.shape();
    ggml_tensor* w = ggml_reshape_2d(c, chosen, a.used, tokens_);
    if (a.routing == router::soft_max_chosen) {
        w = ggml_soft_max(c, w);
    } else {
        ggml_tensor* sum = ggml_sum_rows(c, w);
        if (a.routing == router::groups) sum = ggml_clamp(c, sum, 6.103515625e-5f, INFINITY);
        w = ggml_div(c, w, sum);
    }
    w = ggml_reshape_3d(c, w, 1, a.used, tokens_);
    return a.routing == router::groups ? ggml_scale(c, w, 2.5f) : w;
}

ggml_tensor* graph::mixture(ggml_tensor* x, const std::string& layer) {
    ggml_context* c = nodes_.get();
    const architecture& a = model_.shape();
    ggml_tensor* odds = ggml_mul_mat(c, model_.weight(layer + "router"), x);
    const auto biased = [&] { return ggml_add(c, odds, model_.weight(layer + "router_bias")); };
    if (a.routing == router::soft_max) odds = ggml_soft_max(c, odds);
    if (a.routing == router::soft_max_chosen) odds = biased();
    if (a.routing == router::groups) odds = ggml_sigmoid(c, odds);
    ggml_tensor* choice = a.routing == router::groups ? best_groups(biased()) : odds;
    ggml_tensor* ids = ggml_argsort_top_k(c, choice, a.used);
    ggml_tensor* share =
        weights_of(ggml_get_rows(c, ggml_reshape_3d(c, odds, 1, a.experts, tokens_), ids));
    ggml_build_forward_expand(graph_, share);

    ggml_tensor* slots = ggml_reshape_3d(c, x, a.hidden, 1, tokens_);
    ggml_tensor* up = experts(layer + "up", slots, ids);
    ggml_tensor* gate = experts(layer + "gate", slots, ids);
    ggml_tensor* out = experts(layer + "down", ggml_swiglu_split(c, gate, up), ids);
    out = ggml_mul(c, out, share);
    ggml_tensor* sum = nullptr;
    for (int i = 0; i < a.used; ++i) {
        ggml_tensor* one = ggml_view_2d(c, out, a.hidden, tokens_, out->nb[2],
                                        static_cast<std::size_t>(i) * out->nb[1]);
        sum = sum == nullptr ? one : ggml_add(c, sum, one);
    }
    return sum;
}

}  // namespace catena_test
