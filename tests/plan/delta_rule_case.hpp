// A graph with linear attention by the gated delta rule, for tests of the planner and of the proof.
#pragma once

#include "cases.hpp"
#include "random/tables.hpp"

#include <algorithm>
#include <initializer_list>

namespace catena_test {

using namespace catena;

struct rule_shape {
    std::int64_t tokens = 1, sequences = 1, k = 128, heads = 4, key_heads = 2, states = 4, kept = 1;
    int snapshots = 1;
    bool by_value = false, softens = true, picks = true, keeps = true, copies = false;
    bool moves = false;  ///< keys are repeated; decays and shares lie two abreast, are copied, and
                         ///< then get a bias or become sigmoids
};

/// What stands between heads of queries, keys and values and the norm of what is recalled for them.
struct rule_case {
    rule_shape is;
    graph_builder g;
    id states, number, q, k, v, alpha, beta, state;
    id made_q = no_tensor, made_k = no_tensor, both = no_tensor, bias = no_tensor;
    id picked = no_tensor, soft = no_tensor, decay, rule, keep = no_tensor, values, norm;

    explicit rule_case(const rule_shape& s = {}) : is(s) {
        states = g.input(format::f32, {size(), is.states});
        number = g.input(format::i32, {is.sequences});
        if (is.picks)
            state = picked =
                g.node(op::get_rows, format::f32, {size(), is.sequences}, {states, number});
        else
            state = g.input(format::f32, {size(), is.sequences});
        if (is.copies) copied();
        const auto made = [&](std::int64_t heads) {
            return g.other({g.input(format::f32, {is.k, heads, is.tokens, is.sequences})});
        };
        q = made_q = made(is.key_heads), k = made_k = made(is.key_heads), v = made(is.heads);
        const std::int64_t width = is.by_value ? is.k : 1;
        alpha = g.other({g.input(format::f32, {width * is.heads, is.tokens, is.sequences})});
        if (is.moves) moved();
        decay = alpha;
        if (is.softens) {
            soft = g.unary(alpha, sub_op::softplus);
            decay = g.mul(soft, g.weight(format::f32, {width * is.heads}));
        }
        if (!is.moves)
            beta = g.other({g.input(format::f32, {1, is.heads, is.tokens, is.sequences})});
        rule =
            g.node(op::gated_delta_net, format::f32,
                   {is.k * is.heads, is.tokens * is.sequences + is.snapshots * is.k * is.sequences},
                   {q, k, v, g.reshape(decay, {width, is.heads, is.tokens, is.sequences}), beta,
                    g.reshape(state, {is.k, is.k, is.heads, is.sequences})});
        g[rule].params[0] = is.snapshots;
        if (is.keeps) keep = kept();
        values = g.view(rule, {is.k, is.heads, is.tokens, is.sequences}, 0);
        norm = g.rms_norm(values);
        g.other({norm});
    }

    std::int64_t size() const { return is.k * is.k * is.heads; }
    std::int64_t value_bytes() const { return 4 * is.k * is.heads * is.tokens * is.sequences; }

    /// Two numbers of a decay, and two logits of shares, one after the other.
    id two_abreast(std::int64_t first) {
        const id t = g.view(both, {2, is.heads / 2, is.tokens, is.sequences}, 4 * first);
        g[t].nb[1] = 16;
        g[t].nb[2] = g[both].nb[1], g[t].nb[3] = g[both].nb[2];
        return t;
    }
    id repeated(id heads) {
        const std::int64_t all = is.tokens * is.sequences, times = is.heads / is.key_heads;
        const id t = g.node(op::repeat, format::f32, {is.k, times, is.key_heads, all},
                            {g.reshape(heads, {is.k, 1, is.key_heads, all})});
        return g.reshape(t, {is.k, is.heads, is.tokens, is.sequences});
    }
    void moved() {
        both = g.other({g.input(format::f32, {2 * is.heads, is.tokens, is.sequences})});
        q = repeated(made_q), k = repeated(made_k);
        bias = g.weight(format::f32, {is.heads});
        alpha = g.add(
            g.node(op::cont, format::f32, {is.heads, is.tokens, is.sequences}, {two_abreast(0)}),
            bias);
        const id logits = two_abreast(2);
        const id copy = g.same_shape(op::cont, logits, {logits});
        beta = g.reshape(g.unary(copy, sub_op::sigmoid), {1, is.heads, is.tokens, is.sequences});
    }

    void copied() {
        const id one =
            g.node(op::get_rows, format::f32, {size(), 1}, {states, g.input(format::i32, {1})});
        const id to = g.view(states, {size(), 1}, g[states].nb[1] * (is.states - 1));
        const id t = g.node(op::cpy, format::f32, {size(), 1}, {one, to});
        g.rename(t, states);
        g.share(t, to);
    }
    id kept() {
        const id next = g.view(rule, {is.k, is.k, is.heads, is.sequences}, value_bytes());
        const id to = g.view(states, {size() * is.sequences}, g[states].nb[1] * is.kept);
        const id t = g.node(op::cpy, format::f32, {size() * is.sequences}, {next, to});
        g.rename(t, states);
        g.share(t, to);
        return t;
    }

    plan planned(const options& asked = {}) { return proved_plan(g, shipped_table(), asked); }
    bool covers(const plan& p, std::initializer_list<id> of) {
        const std::int32_t step = p.at(g.position(rule)).step;
        return step >= 0 && std::all_of(of.begin(), of.end(),
                                        [&](id t) { return p.at(g.position(t)).step == step; });
    }
    /// Nothing is planned at the rule; why?
    reason left() {
        const plan p = planned();
        CHECK(p.at(g.position(rule)).step < 0);
        return left_why(p, g.position(rule));
    }
    heads_args args(const plan& p) { return p.args(p.at(g.position(rule)).step, nullptr).heads; }
};

}  // namespace catena_test
