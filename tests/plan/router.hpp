// What stands between the logits of a layer's experts and these, as llama.cpp builds it.
#pragma once

#include "cases.hpp"

#include "catena/match/ggml_cuda.hpp"

#include <cstring>
#include <limits>

namespace catena_test {

struct router_shape {
    std::int64_t experts = 128, tokens = 1, chosen = 8;
    catena::scoring score = catena::scoring::soft_max;
    catena::choosing choice = catena::choosing::by_score;
    bool bias = false;
    std::int64_t groups = 1, groups_chosen = 1;
    std::int64_t best = 2;  ///< experts whose scores tell how good a group is
    bool soft_max_chosen = false, normalized = true, clamped = true;
    float scale = 1;
};

inline constexpr router_shape of_qwen3{};
inline constexpr router_shape of_gpt_oss{.experts = 32,
                                         .chosen = 4,
                                         .score = catena::scoring::none,
                                         .soft_max_chosen = true,
                                         .normalized = false};
inline constexpr router_shape of_deepseek_4{.experts = 256,
                                            .chosen = 6,
                                            .score = catena::scoring::sqrt_softplus,
                                            .bias = true,
                                            .scale = 1.5f};
inline constexpr router_shape of_llama_4{.experts = 16,
                                         .chosen = 1,
                                         .score = catena::scoring::sigmoid,
                                         .choice = catena::choosing::by_logit,
                                         .normalized = false};
inline constexpr router_shape of_grove{.choice = catena::choosing::by_sigmoid};
inline constexpr router_shape of_deepseek{.experts = 256,
                                          .score = catena::scoring::sigmoid,
                                          .bias = true,
                                          .groups = 8,
                                          .groups_chosen = 4,
                                          .scale = 2.5f};

struct router_case {
    router_shape is;
    graph_builder g;
    id logits, scores, choice, bias = catena::no_tensor, sort, ids, rows, weights, experts;

    explicit router_case(const router_shape& s = {}) : is(s) {
        logits = g.other({g.input(format::f32, {is.experts, is.tokens})});
        scores = score(logits);
        choice = chosen_by();
        const id single = g.reshape(scores, {1, is.experts, is.tokens});
        if (is.bias) {
            bias = g.weight(format::f32, {is.experts});
            choice = g.add(choice, bias);
        }
        const id all = is.groups > 1 ? best_groups(choice) : choice;
        sort = sorted(all);
        ids = first(sort, is.chosen);
        rows = weights =
            g.node(op::get_rows, format::f32, {1, is.chosen, is.tokens}, {single, ids});
        if (is.soft_max_chosen) weights = in_shape(soft_max(of_tokens(weights)));
        if (is.normalized) normalize();
        if (is.scale != 1) weights = g.scale(weights, is.scale);
        experts = g.other({weights, ids});
    }

    id soft_max(id x) {
        const id t = g.same_shape(op::soft_max, x, {x});
        const float one = 1;
        std::memcpy(g[t].params, &one, sizeof one);
        return t;
    }
    id score(id x) {
        if (is.score == catena::scoring::sigmoid) return g.unary(x, catena::sub_op::sigmoid);
        if (is.score == catena::scoring::sqrt_softplus)
            return g.same_shape(op::sqrt, x, {g.unary(x, catena::sub_op::softplus)});
        return is.score == catena::scoring::none ? x : soft_max(x);
    }
    id chosen_by() {
        if (is.choice == catena::choosing::by_score) return scores;
        return is.choice == catena::choosing::by_logit ? logits
                                                       : g.unary(logits, catena::sub_op::sigmoid);
    }
    id sorted(id x) {
        const auto& s = g[x];
        const id t = g.node(op::argsort, format::i32, {s.ne[0], s.ne[1], s.ne[2]}, {x});
        g[t].params[0] = 1;
        return t;
    }
    /// The first numbers of each row, as a VIEW has them.
    id first(id of, std::int64_t count) {
        const id t = g.view(of, {count, g[of].ne[1], g[of].ne[2]});
        for (int d = 1; d < 4; ++d) g[t].nb[d] = g[of].nb[d];
        return t;
    }
    id of_tokens(id w) { return g.reshape(w, {is.chosen, is.tokens}); }
    id in_shape(id w) { return g.reshape(w, {1, is.chosen, is.tokens}); }

    void normalize() {
        const id w = of_tokens(weights);
        id sum = g.node(op::sum_rows, format::f32, {1, is.tokens}, {w});
        if (is.clamped) {
            sum = g.same_shape(op::clamp, sum, {sum});
            const float bounds[] = {6.103515625e-5f, std::numeric_limits<float>::infinity()};
            std::memcpy(g[sum].params, bounds, sizeof bounds);
        }
        weights = in_shape(g.same_shape(op::div, w, {w, sum}));
    }

    id best_groups(id x) {
        const std::int64_t size = is.experts / is.groups;
        const id groups = g.reshape(x, {size, is.groups, is.tokens});
        const id two = first(sorted(groups), is.best);
        const id single = g.reshape(groups, {1, size, is.groups, is.tokens});
        id best =
            g.node(op::get_rows, format::f32, {1, is.best, is.groups, is.tokens}, {single, two});
        best = g.reshape(best, {is.best, is.groups, is.tokens});
        best = g.node(op::sum_rows, format::f32, {1, is.groups, is.tokens}, {best});
        const id kept = first(sorted(g.reshape(best, {is.groups, is.tokens})), is.groups_chosen);
        const id some =
            g.node(op::get_rows, format::f32, {size, is.groups_chosen, is.tokens}, {groups, kept});
        const id fill = g.same_shape(op::fill, groups, {groups});
        g[fill].params[0] = static_cast<std::int32_t>(0xff800000u);
        const id masked = g.same_shape(op::set_rows, groups, {some, kept, fill});
        g.rename(masked, fill);
        return g.reshape(masked, {is.experts, is.tokens});
    }

    catena::plan planned(const catena::options& asked = {},
                         const catena::engine_model* engine = &catena::node_by_node);
};

}  // namespace catena_test
