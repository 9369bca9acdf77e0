// Families with experts.
#include "families.hpp"

#include <cmath>

namespace catena_test {
namespace {

constexpr int experts = 8, used = 2, ffn = 256;

/// The choice with all groups but the best at minus infinity.
ggml_tensor* best_groups(network& n, ggml_tensor* choice, const routing& how) {
    ggml_context* c = n.c();
    const std::int64_t size = how.experts / how.groups, tokens = choice->ne[1];
    ggml_tensor* all = ggml_reshape_3d(c, choice, size, how.groups, tokens);
    ggml_tensor* best = ggml_argsort_top_k(c, all, 2);
    best = ggml_get_rows(c, ggml_reshape_4d(c, all, 1, size, how.groups, tokens), best);
    best = ggml_sum_rows(c, ggml_reshape_3d(c, best, 2, how.groups, tokens));
    best = ggml_reshape_2d(c, best, how.groups, tokens);
    ggml_tensor* groups = ggml_argsort_top_k(c, best, how.groups_used);
    ggml_tensor* kept = ggml_get_rows(c, all, groups);
    ggml_tensor* masked = ggml_set_rows(c, ggml_fill(c, all, -INFINITY), kept, groups);
    return ggml_reshape_2d(c, masked, how.experts, tokens);
}

ggml_tensor* scored(ggml_context* c, ggml_tensor* odds, scores by) {
    switch (by) {
        case scores::soft_max:
            return ggml_soft_max(c, odds);
        case scores::sigmoid:
            return ggml_sigmoid(c, odds);
        case scores::sqrt_softplus:
            return ggml_sqrt(c, ggml_softplus(c, odds));
    }
    return nullptr;
}

ggml_tensor* in_slots(network& n, ggml_tensor* x) {
    return ggml_reshape_3d(n.c(), x, x->ne[0], 1, x->ne[1]);
}

/// A matrix of the chosen experts, with adapters, if the family has them.
ggml_tensor* matmul_of(network& n, const std::string& name, ggml_tensor* x, int rows,
                       ggml_tensor* ids) {
    ggml_tensor* y = ggml_mul_mat_id(n.c(), n.of().matrix(name, x->ne[0], rows, experts), x, ids);
    for (int i = 0; i < n.adapters; ++i) {
        const std::string low = name + ".lora_" + std::to_string(i);
        ggml_tensor* a = n.of().numbers(low + "a", {x->ne[0], 8, experts}, 0, 0.1f);
        ggml_tensor* b = n.of().numbers(low + "b", {8, rows, experts}, 0, 0.2f);
        ggml_tensor* delta = ggml_mul_mat_id(n.c(), b, ggml_mul_mat_id(n.c(), a, x, ids), ids);
        y = ggml_add(n.c(), y, ggml_scale(n.c(), delta, 0.5f));
    }
    return y;
}

/// A shared expert, times a number for each token.
ggml_tensor* gated_shared_expert(network& n, const std::string& layer, ggml_tensor* x) {
    ggml_tensor* gate =
        ggml_mul_mat(n.c(), n.of().numbers(layer + "shared_gate_inp", {hidden}, 0, 0.2f), x);
    ggml_tensor* shared = shared_expert(n, layer, x);
    return ggml_mul(n.c(), shared, ggml_sigmoid(n.c(), gate));
}

/// Two layers of attention, and what `feed_forward` makes of the second norm.
template <class F>
void draw(network& n, F&& feed_forward_of) {
    ggml_tensor* x = n.embeddings();
    for (int i = 0; i < 2; ++i) {
        const std::string layer = layer_name(i);
        x = ggml_add(n.c(), n.attention(layer, n.rms_norm(x, layer + "attn_norm")), x);
        ggml_tensor* made = feed_forward_of(layer, n.rms_norm(x, layer + "ffn_norm"));
        x = ggml_add(n.c(), made, x);
    }
    n.logits(x);
}

}  // namespace

ggml_tensor* shared_expert(network& n, const std::string& layer, ggml_tensor* x) {
    return n.swiglu(layer + "shared_", x, ffn);
}

chosen_experts choose(network& n, const std::string& layer, ggml_tensor* x, const routing& how) {
    ggml_tensor* router = n.of().numbers(layer + "router", {hidden, how.experts}, 0, 0.2f);
    return routed(n, layer, ggml_mul_mat(n.c(), router, x), how);
}

chosen_experts routed(network& n, const std::string& layer, ggml_tensor* logits,
                      const routing& how) {
    ggml_context* c = n.c();
    const std::int64_t tokens = logits->ne[1];
    ggml_tensor* odds = logits;
    ggml_tensor* bias =
        how.bias ? n.of().numbers(layer + "router_bias", {how.experts}, 0, 0.5f) : nullptr;
    if (how.soft_max_last) {
        if (how.bias) odds = ggml_add(c, odds, bias);
    } else {
        odds = scored(c, odds, how.by);
    }
    ggml_tensor* choice = how.bias && !how.soft_max_last ? ggml_add(c, odds, bias) : odds;
    if (how.order == sorted::by_logit) choice = logits;
    if (how.order == sorted::by_sigmoid) choice = ggml_sigmoid(c, logits);
    if (how.groups > 1) choice = best_groups(n, choice, how);
    ggml_tensor* ids = ggml_argsort_top_k(c, choice, how.used);
    ggml_tensor* w = ggml_get_rows(c, ggml_reshape_3d(c, odds, 1, how.experts, tokens), ids);
    if (how.soft_max_last) w = ggml_soft_max(c, ggml_reshape_2d(c, w, how.used, tokens));
    if (how.normalized) {
        w = ggml_reshape_2d(c, w, how.used, tokens);
        ggml_tensor* sum = ggml_clamp(c, ggml_sum_rows(c, w), 6.103515625e-5f, INFINITY);
        w = ggml_div(c, w, sum);
    }
    if (w->ne[0] != 1 || w->ne[2] != tokens) w = ggml_reshape_3d(c, w, 1, how.used, tokens);
    if (how.scale != 1) w = ggml_scale(c, w, how.scale);
    return {ids, n.expand(w)};
}

ggml_tensor* sum_of(network& n, ggml_tensor* made, ggml_tensor* w) {
    if (w != nullptr) made = ggml_mul(n.c(), made, w);
    ggml_tensor* parts[used];
    for (int i = 0; i < used; ++i) {
        parts[i] = ggml_view_2d(n.c(), made, made->ne[0], made->ne[2], made->nb[2],
                                static_cast<std::size_t>(i) * made->nb[1]);
        n.expand(parts[i]);
    }
    ggml_tensor* sum = parts[0];
    for (int i = 1; i < used; ++i) sum = n.expand(ggml_add(n.c(), sum, parts[i]));
    return sum;
}

ggml_tensor* mixture(network& n, const std::string& layer, ggml_tensor* x, const routing& how) {
    const chosen_experts chosen = choose(n, layer, x, how);
    ggml_tensor* slots = in_slots(n, x);
    ggml_tensor* up = matmul_of(n, layer + "up_exps", slots, ffn, chosen.ids);
    ggml_tensor* gate = matmul_of(n, layer + "gate_exps", slots, ffn, chosen.ids);
    ggml_tensor* y = ggml_swiglu_split(n.c(), gate, up);
    return sum_of(n, matmul_of(n, layer + "down_exps", y, hidden, chosen.ids), chosen.weights);
}

void experts_of_groups(network& n) {
    const routing how = {.groups = 4,
                         .groups_used = 2,
                         .by = scores::sigmoid,
                         .bias = true,
                         .normalized = true,
                         .scale = 2.5f};
    draw(n, [&](const std::string& layer, ggml_tensor* x) {
        ggml_tensor* y = mixture(n, layer, x, how);
        return ggml_add(n.c(), y, shared_expert(n, layer, x));
    });
}

void experts_with_biases(network& n) {
    const routing how = {.bias = true, .soft_max_last = true};
    draw(n, [&](const std::string& layer, ggml_tensor* x) {
        const chosen_experts chosen = choose(n, layer, x, how);
        const auto biased = [&](const std::string& name, ggml_tensor* from, int rows) {
            ggml_tensor* y = matmul_of(n, layer + name, from, rows, chosen.ids);
            ggml_tensor* bias = n.of().numbers(layer + name + ".bias", {rows, experts}, 0, 0.5f);
            return ggml_add_id(n.c(), y, bias, chosen.ids);
        };
        ggml_tensor* up = biased("up_exps", in_slots(n, x), ffn);
        ggml_tensor* gate = biased("gate_exps", in_slots(n, x), ffn);
        ggml_tensor* y = biased("down_exps", ggml_swiglu_oai(n.c(), gate, up, 1.702f, 7), hidden);
        return sum_of(n, y, chosen.weights);
    });
}

void experts_in_one_matrix(network& n) {
    const routing how = {.normalized = true};
    draw(n, [&](const std::string& layer, ggml_tensor* x) {
        const chosen_experts chosen = choose(n, layer, x, how);
        ggml_tensor* both = matmul_of(n, layer + "gate_up", in_slots(n, x), 2 * ffn, chosen.ids);
        const auto half = [&](std::size_t first) {
            return ggml_view_3d(n.c(), both, ffn, both->ne[1], both->ne[2], both->nb[1],
                                both->nb[2], first * sizeof(float));
        };
        ggml_tensor* y = ggml_swiglu_split(n.c(), half(0), half(ffn));
        y = matmul_of(n, layer + "down_exps", y, hidden, chosen.ids);
        y = sum_of(n, y, chosen.weights);
        return ggml_add(n.c(), y, gated_shared_expert(n, layer, x));
    });
}

void experts_and_gated_one(network& n) {
    const routing how = {.normalized = true};
    draw(n, [&](const std::string& layer, ggml_tensor* x) {
        ggml_tensor* y = mixture(n, layer, x, how);
        return ggml_add(n.c(), y, gated_shared_expert(n, layer, x));
    });
}

void experts_weighed_first(network& n) {
    const routing how = {.by = scores::sigmoid, .order = sorted::by_logit};
    draw(n, [&](const std::string& layer, ggml_tensor* x) {
        const auto [ids, w] = choose(n, layer, x, how);
        ggml_tensor* slots = ggml_repeat_4d(n.c(), in_slots(n, x), hidden, used, x->ne[1], 1);
        slots = ggml_mul(n.c(), slots, w);
        ggml_tensor* up = matmul_of(n, layer + "up_exps", slots, ffn, ids);
        ggml_tensor* gate = matmul_of(n, layer + "gate_exps", slots, ffn, ids);
        ggml_tensor* y = ggml_geglu_split(n.c(), gate, up);
        y = sum_of(n, matmul_of(n, layer + "down_exps", y, hidden, ids), nullptr);
        return ggml_add(n.c(), y, shared_expert(n, layer, x));
    });
}

void experts_by_softplus(network& n) {
    const routing how = {
        .by = scores::sqrt_softplus, .bias = true, .normalized = true, .scale = 1.5f};
    draw(n, [&](const std::string& layer, ggml_tensor* x) {
        ggml_tensor* y = mixture(n, layer, x, how);
        return ggml_add(n.c(), y, shared_expert(n, layer, x));
    });
}

void experts_by_sigmoid(network& n) {
    const routing how = {.order = sorted::by_sigmoid, .normalized = true};
    draw(n, [&](const std::string& layer, ggml_tensor* x) { return mixture(n, layer, x, how); });
}

void experts_with_adapters(network& n) {
    n.adapters = 2;
    const routing how = {.normalized = true};
    draw(n, [&](const std::string& layer, ggml_tensor* x) { return mixture(n, layer, x, how); });
}

}  // namespace catena_test
