// Families without experts or states, whose norms, biases or readers are peculiar.
#include "families.hpp"

namespace catena_test {
namespace {

/// Q, K or V of one matrix: a part of each token's row.
ggml_tensor* part_of(network& n, ggml_tensor* all, int count, int first) {
    return ggml_view_3d(n.c(), all, head_size, count, n.token_count(), head_size * sizeof(float),
                        all->nb[1], static_cast<std::size_t>(first * head_size) * sizeof(float));
}

ggml_tensor* attention_of_one_matrix(network& n, const std::string& layer, ggml_tensor* x,
                                     bool biased) {
    const int rows = (heads + 2 * kv_heads) * head_size;
    ggml_tensor* all = biased ? n.biased(layer + "qkv", x, rows) : n.matmul(layer + "qkv", x, rows);
    ggml_tensor* q = n.rope(part_of(n, all, heads, 0), 32, GGML_ROPE_TYPE_NEOX);
    ggml_tensor* k = n.rope(part_of(n, all, kv_heads, heads), 32, GGML_ROPE_TYPE_NEOX);
    ggml_tensor* y =
        n.attend_cached(layer, q, k, part_of(n, all, kv_heads, heads + kv_heads), 0.125f);
    return biased ? n.biased(layer + "o", y, hidden) : n.matmul(layer + "o", y, hidden);
}

ggml_tensor* gelu_of(network& n, const std::string& layer, ggml_tensor* x, bool biased) {
    if (!biased) {
        ggml_tensor* up = n.matmul(layer + "up", x, feed_forward);
        return n.matmul(layer + "down", ggml_gelu(n.c(), up), hidden);
    }
    ggml_tensor* up = n.biased(layer + "up", x, feed_forward);
    return n.biased(layer + "down", ggml_gelu(n.c(), up), hidden);
}

/// Attention without a cache, of tokens that see all tokens.
ggml_tensor* attention_to_all(network& n, ggml_tensor* q, ggml_tensor* k, ggml_tensor* v) {
    return n.attend(q, k, v, nullptr, 0.125f);
}

}  // namespace

void one_norm_for_both(network& n) {
    ggml_tensor* x = n.embeddings();
    for (int i = 0; i < 2; ++i) {
        const std::string layer = layer_name(i);
        ggml_tensor* normed = n.layer_norm(x, layer + "attn_norm");
        ggml_tensor* y = attention_of_one_matrix(n, layer, normed, false);
        ggml_tensor* ffn = gelu_of(n, layer, normed, false);
        x = ggml_add(n.c(), ggml_add(n.c(), ffn, y), x);
    }
    n.output(n.matmul("output", n.layer_norm(x, "output_norm"), 96));
}

void two_norms_of_one(network& n) {
    ggml_tensor* x = n.embeddings();
    for (int i = 0; i < 2; ++i) {
        const std::string layer = layer_name(i);
        ggml_tensor* y =
            attention_of_one_matrix(n, layer, n.layer_norm(x, layer + "attn_norm"), true);
        ggml_tensor* ffn = gelu_of(n, layer, n.layer_norm(x, layer + "ffn_norm"), true);
        x = ggml_add(n.c(), ggml_add(n.c(), ffn, x), y);
    }
    n.output(n.biased("output", n.layer_norm(x, "output_norm"), 96));
}

void norms_behind(network& n) {
    ggml_tensor* x = n.embeddings();
    for (int i = 0; i < 2; ++i) {
        const std::string layer = layer_name(i);
        const auto normed = [&](const char* name, int count) {
            ggml_tensor* all = n.matmul(layer + name, x, count * head_size);
            all = n.rms_norm(all, layer + name + "_norm");
            return n.rope(ggml_reshape_3d(n.c(), all, head_size, count, n.token_count()));
        };
        ggml_tensor* q = normed("q", heads);
        ggml_tensor* k = normed("k", kv_heads);
        ggml_tensor* v = ggml_reshape_3d(n.c(), n.matmul(layer + "v", x, kv_heads * head_size),
                                         head_size, kv_heads, n.token_count());
        ggml_tensor* y = n.matmul(layer + "o", n.attend_cached(layer, q, k, v, 0.125f), hidden);
        x = ggml_add(n.c(), n.rms_norm(y, layer + "post_attention_norm"), x);
        y = n.rms_norm(n.swiglu(layer, x), layer + "post_ffw_norm");
        x = ggml_add(n.c(), y, x);
    }
    n.logits(x);
}

void norms_within(network& n) {
    ggml_tensor* x = n.embeddings();
    const auto scaled = [&](const std::string& name, ggml_tensor* from, int rows) {
        return ggml_mul(n.c(), n.matmul(name, from, rows),
                        n.of().numbers(name + ".scale", {1}, 1, 0.5f));
    };
    for (int i = 0; i < 2; ++i) {
        const std::string layer = layer_name(i);
        ggml_tensor* normed = n.rms_norm(x, layer + "attn_norm");
        const auto split = [&](const char* name, int count) {
            return ggml_reshape_3d(n.c(), scaled(layer + name, normed, count * head_size),
                                   head_size, count, n.token_count());
        };
        ggml_tensor* q = n.rope(split("q", heads));
        ggml_tensor* k = n.rope(split("k", kv_heads));
        ggml_tensor* y = n.attend_cached(layer, q, k, split("v", kv_heads), 0.125f);
        y = scaled(layer + "o", n.rms_norm(y, layer + "attn_sub_norm"), hidden);
        x = ggml_add(n.c(), y, x);
        normed = n.rms_norm(x, layer + "ffn_norm");
        ggml_tensor* up = scaled(layer + "up", normed, feed_forward);
        ggml_tensor* gate = scaled(layer + "gate", normed, feed_forward);
        y = n.rms_norm(ggml_swiglu_split(n.c(), gate, up), layer + "ffn_sub_norm");
        x = ggml_add(n.c(), scaled(layer + "down", y, hidden), x);
    }
    n.logits(x);
}

void encoder(network& n) {
    ggml_tensor* of_places = n.of().numbers("of_places", {hidden, context_length}, 0, 0.5f);
    ggml_tensor* x =
        ggml_add(n.c(), n.embeddings(), ggml_get_rows(n.c(), of_places, n.positions()));
    x = n.layer_norm(x, "embd_norm");
    for (int i = 0; i < 2; ++i) {
        const std::string layer = layer_name(i);
        const auto split = [&](const char* name) {
            return ggml_reshape_3d(n.c(), n.biased(layer + name, x, heads * head_size), head_size,
                                   heads, n.token_count());
        };
        ggml_tensor* y = attention_to_all(n, split("q"), split("k"), split("v"));
        y = ggml_add(n.c(), n.biased(layer + "o", y, hidden), x);
        x = n.layer_norm(y, layer + "attn_out_norm");
        x = n.layer_norm(ggml_add(n.c(), gelu_of(n, layer, x, true), x), layer + "out_norm");
    }
    n.output(x);
    const std::vector<float> share(static_cast<std::size_t>(n.tokens()),
                                   1.0f / static_cast<float>(n.tokens()));
    ggml_tensor* mean = n.numbers("mean", GGML_TYPE_F32, share, n.tokens());
    ggml_tensor* pooled = ggml_mul_mat(n.c(), ggml_cont(n.c(), ggml_transpose(n.c(), x)), mean);
    pooled = ggml_tanh(n.c(), n.biased("cls", pooled, hidden));
    n.output(n.biased("cls_out", pooled, 32));
}

void gated_encoder(network& n) {
    ggml_tensor* x = n.layer_norm(n.embeddings(), "embd_norm");
    for (int i = 0; i < 2; ++i) {
        const std::string layer = layer_name(i);
        ggml_tensor* all = n.matmul(layer + "qkv", x, 3 * heads * head_size);
        ggml_tensor* q = n.rope(part_of(n, all, heads, 0), head_size, GGML_ROPE_TYPE_NEOX);
        ggml_tensor* k = n.rope(part_of(n, all, heads, heads), head_size, GGML_ROPE_TYPE_NEOX);
        ggml_tensor* y = attention_to_all(n, q, k, part_of(n, all, heads, 2 * heads));
        y = ggml_add(n.c(), n.matmul(layer + "o", y, hidden), x);
        x = n.layer_norm(y, layer + "attn_out_norm");
        ggml_tensor* both = n.matmul(layer + "up", x, 2 * feed_forward);
        y = n.matmul(layer + "down", i == 0 ? ggml_geglu(n.c(), both) : ggml_swiglu(n.c(), both),
                     hidden);
        x = n.layer_norm(ggml_add(n.c(), y, x), layer + "out_norm");
    }
    n.output(x);
    n.output(ggml_get_rows(n.c(), x, n.ids("first", {0})));
}

void adapters_and_vectors(network& n) {
    n.adapters = 3;
    ggml_tensor* x = n.embeddings();
    for (int i = 0; i < 2; ++i) {
        const std::string layer = layer_name(i);
        x = ggml_add(n.c(), n.attention(layer, n.rms_norm(x, layer + "attn_norm")), x);
        x = ggml_add(n.c(), n.swiglu(layer, n.rms_norm(x, layer + "ffn_norm")), x);
        x = ggml_add(n.c(), x, n.of().numbers(layer + "control", {hidden}, 0, 0.5f));
    }
    n.logits(x);
}

void outputs_everywhere(network& n) {
    ggml_tensor* x = n.embeddings();
    for (int i = 0; i < 2; ++i) {
        const std::string layer = layer_name(i);
        ggml_tensor* normed = n.rms_norm(x, layer + "attn_norm");
        ggml_set_output(i == 0 ? normed : normed->src[0]);
        ggml_tensor* y = n.attention(layer, normed);
        ggml_set_output(y);
        x = ggml_add(n.c(), y, x);
        if (i == 0) ggml_set_output(x);
        normed = n.rms_norm(x, layer + "ffn_norm");
        ggml_tensor* up = n.matmul(layer + "up", normed, feed_forward);
        ggml_tensor* gate = n.matmul(layer + "gate", normed, feed_forward);
        ggml_set_output(i == 0 ? up : gate);
        ggml_tensor* both = ggml_swiglu_split(n.c(), gate, up);
        if (i == 1) ggml_set_output(both);
        x = ggml_add(n.c(), n.matmul(layer + "down", both, hidden), x);
        ggml_set_output(x);
    }
    n.output(ggml_get_rows(n.c(), x, n.asked_for()));
    n.logits(x);
}

}  // namespace catena_test
