// Families whose attention is peculiar.
#include "families.hpp"

#include <cmath>
#include <cstdlib>

namespace catena_test {
namespace {

constexpr int rank = 128, turned = 64, plain = 64, value_size = 64;

/// A part of each head of [all, heads, tokens].
ggml_tensor* part(network& n, ggml_tensor* t, std::int64_t size, std::int64_t first) {
    return ggml_view_3d(n.c(), t, size, t->ne[1], t->ne[2], t->nb[1], t->nb[2],
                        static_cast<std::size_t>(first) * sizeof(float));
}

struct latent {
    ggml_tensor *q, *compressed, *k_turned;
};

/// Q by way of a smaller vector, and the vector that K and V are made of.
latent compress(network& n, const std::string& layer, ggml_tensor* x) {
    ggml_tensor* q = n.rms_norm(n.matmul(layer + "q_a", x, 256), layer + "q_a_norm");
    q = n.matmul(layer + "q_b", q, heads * (plain + turned));
    q = ggml_reshape_3d(n.c(), q, plain + turned, heads, n.token_count());
    ggml_tensor* both = n.matmul(layer + "kv_a", x, rank + turned);
    ggml_tensor* k = ggml_view_3d(n.c(), both, turned, 1, n.token_count(), both->nb[1], both->nb[1],
                                  rank * sizeof(float));
    ggml_tensor* compressed = ggml_view_2d(n.c(), both, rank, n.token_count(), both->nb[1], 0);
    return {q, n.rms_norm(compressed, layer + "kv_a_norm"), n.rope(k, turned)};
}

ggml_tensor* absorbed(network& n, const std::string& layer, ggml_tensor* x) {
    const latent l = compress(n, layer, x);
    ggml_tensor* q_turned = n.rope(part(n, l.q, turned, plain), turned);
    ggml_tensor* q_plain = ggml_permute(n.c(), part(n, l.q, plain, 0), 0, 2, 1, 3);
    ggml_tensor* q = ggml_mul_mat(n.c(), n.of().matrix(layer + "k_b", plain, rank, heads), q_plain);
    q = ggml_concat(n.c(), ggml_permute(n.c(), q, 0, 2, 1, 3), q_turned, 0);
    ggml_tensor* vector = ggml_reshape_3d(n.c(), l.compressed, rank, 1, n.token_count());
    ggml_tensor* k = ggml_concat(n.c(), vector, l.k_turned, 0);

    for (ggml_tensor* t : {q, k}) n.expand(t);
    ggml_tensor* all = n.cache(layer + "keys", GGML_TYPE_F16, rank + turned, context_length);
    ggml_tensor* keys = n.stored(all, k);
    ggml_tensor* values =
        ggml_view_3d(n.c(), keys, rank, 1, context_length, keys->nb[1], keys->nb[2], 0);
    ggml_tensor* y = n.attend(q, keys, values, n.mask(), 1 / std::sqrt(128.0f),
                              n.of().matrix(layer + "v_b", rank, value_size, heads));
    return n.matmul(layer + "o", y, hidden);
}

ggml_tensor* apart(network& n, const std::string& layer, ggml_tensor* x) {
    const latent l = compress(n, layer, x);
    ggml_tensor* kv = n.matmul(layer + "kv_b", l.compressed, heads * (plain + value_size));
    kv = ggml_reshape_3d(n.c(), kv, plain + value_size, heads, n.token_count());
    ggml_tensor* v = ggml_cont(n.c(), part(n, kv, value_size, plain));
    ggml_tensor* q = ggml_rope_set_offset(n.rope(l.q, turned), plain);
    ggml_tensor* k_turned = ggml_repeat_4d(n.c(), l.k_turned, turned, heads, n.token_count(), 1);
    ggml_tensor* k = ggml_concat(n.c(), part(n, kv, plain, 0), k_turned, 0);
    ggml_tensor* y = n.attend_cached(layer, q, k, v, 1 / std::sqrt(128.0f));
    return n.matmul(layer + "o", y, hidden);
}

template <class Attention>
void draw_latent(network& n, Attention&& attention) {
    ggml_tensor* x = n.embeddings();
    for (int i = 0; i < 2; ++i) {
        const std::string layer = layer_name(i);
        ggml_tensor* made = attention(n, layer, n.rms_norm(x, layer + "attn_norm"));
        if (i == 1) {
            made = ggml_get_rows(n.c(), made, n.asked_for());
            x = ggml_get_rows(n.c(), x, n.asked_for());
        }
        x = ggml_add(n.c(), made, x);
        ggml_tensor* normed = n.rms_norm(x, layer + "ffn_norm");
        if (i == 0) {
            x = ggml_add(n.c(), n.swiglu(layer, normed), x);
            continue;
        }
        const routing how = {.groups = 2,
                             .groups_used = 1,
                             .by = scores::sigmoid,
                             .bias = true,
                             .normalized = true,
                             .scale = 2.5f};
        ggml_tensor* experts = mixture(n, layer, normed, how);
        x = ggml_add(n.c(), ggml_add(n.c(), experts, shared_expert(n, layer, normed)), x);
    }
    n.logits(x);
}

ggml_tensor* relative(network& n, const std::string& name, int columns, bool one_way) {
    std::vector<std::int32_t> buckets;
    for (int i = 0; i < n.tokens(); ++i)
        for (int j = 0; j < columns; ++j)
            buckets.push_back(one_way ? std::max(0, std::min(15, past + i - j))
                                      : std::min(15, std::abs(i - j)));
    ggml_tensor* ids = n.ids(name, buckets);
    ggml_tensor* bias = ggml_get_rows(n.c(), n.of().numbers(name + ".b", {heads, 16}, 0, 1), ids);
    bias = ggml_reshape_3d(n.c(), bias, heads, columns, n.token_count());
    return ggml_cont(n.c(), ggml_permute(n.c(), bias, 2, 0, 1, 3));
}

}  // namespace

void latent_attention(network& n) { draw_latent(n, absorbed); }
void latent_attention_apart(network& n) {
    n.flash = true;
    draw_latent(n, apart);
}

void gated_attention(network& n) {
    ggml_tensor* x = n.embeddings();
    for (int i = 0; i < 2; ++i) {
        const std::string layer = layer_name(i);
        ggml_tensor* normed = n.rms_norm(x, layer + "attn_norm");
        ggml_tensor* both = n.matmul(layer + "q", normed, 2 * heads * head_size);
        ggml_tensor* k = n.matmul(layer + "k", normed, kv_heads * head_size);
        ggml_tensor* v = n.matmul(layer + "v", normed, kv_heads * head_size);
        both = ggml_reshape_3d(n.c(), both, 2 * head_size, heads, n.token_count());
        ggml_tensor* q = n.rms_norm(part(n, both, head_size, 0), layer + "q_norm");
        k = ggml_reshape_3d(n.c(), k, head_size, kv_heads, n.token_count());
        v = ggml_reshape_3d(n.c(), v, head_size, kv_heads, n.token_count());
        k = n.rms_norm(k, layer + "k_norm");
        ggml_tensor* y = n.attend_cached(layer, n.rope(q, 32, GGML_ROPE_TYPE_NEOX),
                                         n.rope(k, 32, GGML_ROPE_TYPE_NEOX), v, 0.125f);
        ggml_tensor* gate = ggml_cont_2d(n.c(), part(n, both, head_size, head_size),
                                         heads * head_size, n.token_count());
        y = ggml_mul(n.c(), y, ggml_sigmoid(n.c(), gate));
        x = ggml_add(n.c(), n.matmul(layer + "o", y, hidden), x);
        normed = n.rms_norm(x, layer + "post_attention_norm");
        x = ggml_add(n.c(), n.swiglu(layer, normed), x);
    }
    n.logits(x);
}

void cross_attention(network& n) {
    constexpr int encoded = 32;
    ggml_tensor* source = n.values("encoder", hidden, encoded);
    ggml_tensor* x = n.embeddings();
    for (int i = 0; i < 2; ++i) {
        const std::string layer = layer_name(i);
        ggml_tensor* normed = n.rms_norm(x, layer + "attn_norm");
        const auto split = [&](const char* name, ggml_tensor* from) {
            return ggml_reshape_3d(n.c(), n.matmul(layer + name, from, heads * head_size),
                                   head_size, heads, from->ne[1]);
        };
        ggml_tensor* q = split("q", normed);
        ggml_tensor* k = split("k", normed);
        ggml_tensor* v = split("v", normed);
        ggml_tensor* y =
            n.attend(q, k, v, nullptr, 1, nullptr, relative(n, "buckets", n.tokens(), false));
        x = ggml_add(n.c(), n.matmul(layer + "o", y, hidden), x);

        normed = n.rms_norm(x, layer + "cross_norm");
        y = n.attend(split("cross_q", normed), split("cross_k", source), split("cross_v", source),
                     nullptr, 1);
        x = ggml_add(n.c(), n.matmul(layer + "cross_o", y, hidden), x);
        normed = n.rms_norm(x, layer + "ffn_norm");
        ggml_tensor* up = n.matmul(layer + "up", normed, feed_forward);
        if (i == 0) {
            up = ggml_relu(n.c(), up);
        } else {
            up = ggml_geglu_split(n.c(), n.matmul(layer + "gate", normed, feed_forward), up);
        }
        x = ggml_add(n.c(), n.matmul(layer + "down", up, hidden), x);
    }
    n.logits(x);
}

void sandwich_norms(network& n) {
    n.softcap = 50;
    ggml_tensor* x = ggml_scale(n.c(), n.embeddings(), 16);
    for (int i = 0; i < 2; ++i) {
        const std::string layer = layer_name(i);
        ggml_tensor* y = n.attention(layer, n.rms_norm(x, layer + "attn_norm"));
        x = ggml_add(n.c(), n.rms_norm(y, layer + "post_attention_norm"), x);
        ggml_tensor* normed = n.rms_norm(x, layer + "ffn_norm");
        ggml_tensor* up = n.matmul(layer + "up", normed, feed_forward);
        ggml_tensor* gate = n.matmul(layer + "gate", normed, feed_forward);
        y = n.matmul(layer + "down", ggml_geglu_split(n.c(), gate, up), hidden);
        x = ggml_add(n.c(), n.rms_norm(y, layer + "post_ffw_norm"), x);
        ggml_tensor* of_layer =  // a part of what the token brings for each layer
            ggml_mul(n.c(), ggml_gelu(n.c(), n.matmul(layer + "inp_gate", x, 128)),
                     n.values(layer + "of_token", 128, n.tokens()));
        of_layer = n.rms_norm(n.matmul(layer + "proj", of_layer, hidden), layer + "post_norm");
        x = ggml_add(n.c(), x, of_layer);
        x = ggml_mul(n.c(), x, n.of().numbers(layer + "out_scale", {1}, 1, 0.2f));
    }
    ggml_tensor* made = n.matmul("output", n.rms_norm(x, "output_norm"), 96);
    made = ggml_tanh(n.c(), ggml_scale(n.c(), made, 1.0f / 30));
    n.output(ggml_scale(n.c(), made, 30));
}

void attention_with_sinks(network& n) {
    n.sinks = true;
    ggml_tensor* x = n.embeddings();
    for (int i = 0; i < 2; ++i) {
        const std::string layer = layer_name(i);
        ggml_tensor* normed = n.rms_norm(x, layer + "attn_norm");
        const auto split = [&](const char* name, int count) {
            return ggml_reshape_3d(n.c(), n.biased(layer + name, normed, count * head_size),
                                   head_size, count, n.token_count());
        };
        ggml_tensor* q = split("q", heads);
        ggml_tensor* k = split("k", kv_heads);
        ggml_tensor* v = split("v", kv_heads);
        ggml_tensor* y = n.attend_cached(layer, n.rope(q, head_size, GGML_ROPE_TYPE_NEOX),
                                         n.rope(k, head_size, GGML_ROPE_TYPE_NEOX), v, 0.125f);
        x = ggml_add(n.c(), n.biased(layer + "o", y, hidden), x);
        normed = n.rms_norm(x, layer + "post_attention_norm");
        x = ggml_add(n.c(), n.swiglu(layer, normed), x);
    }
    n.logits(x);
}

void attention_in_one_op(network& n) {
    n.flash = true;
    ggml_tensor* x = n.embeddings();
    for (int i = 0; i < 2; ++i) {
        const std::string layer = layer_name(i);
        ggml_tensor* normed = n.rms_norm(x, layer + "attn_norm");
        const auto split = [&](const std::string& name, int count) {
            return ggml_reshape_3d(n.c(), n.matmul(layer + name, normed, count * head_size),
                                   head_size, count, n.token_count());
        };
        const auto turned = [&](const std::string& name, int count) {
            ggml_tensor* all = split(name, count);
            if (i == 0) all = n.rms_norm(all, layer + name + "_norm");
            return n.rope(all, head_size, GGML_ROPE_TYPE_NEOX);
        };
        n.sinks = i == 1;
        ggml_tensor* q = turned("q", heads);
        ggml_tensor* k = turned("k", kv_heads);
        ggml_tensor* y = n.attend_cached(layer, q, k, split("v", kv_heads), 0.125f);
        x = ggml_add(n.c(), n.matmul(layer + "o", y, hidden), x);
        normed = n.rms_norm(x, layer + "ffn_norm");
        x = ggml_add(n.c(), n.swiglu(layer, normed), x);
    }
    n.logits(x);
}

}  // namespace catena_test
