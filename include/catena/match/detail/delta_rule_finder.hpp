// Finds linear attention by the gated delta rule that one launch can take: a GATED_DELTA_NET with
// the nodes that pick its state, make its decay and keep the next state.
//
// `Rewrite A to B` above a rule says which nodes A the rule takes over, and which operands of a
// launch B replace them. Names in capitals are ggml's ops.
#pragma once

#include "catena/match/detail/match.hpp"
#include "catena/match/detail/state.hpp"

#include <algorithm>
#include <cstdint>
#include <initializer_list>

namespace CATENA_NAMESPACE {

/// The delta rule of a launch, or the reason why no launch takes it.
struct found_delta_rule {
    obstacle why;
    delta_rule by;
};

class delta_rule_finder {
  public:
    explicit delta_rule_finder(const graph_index& g) : g_(g), view_(g.view) {}

    /// `open(position)` says that no step covers a node.
    template <class Open>
    found_delta_rule of(std::int32_t node, const Open& open) const {
        found_delta_rule out;
        out.by.rule = node;
        out.why = sizes(node, out.by);
        if (!out.why.found() && !kept_behind(g_, node, 4 * values(out.by),
                                             out.by.state_size() * out.by.sequences, out.by.keep))
            out.why = {node, reason::delta_rule_state};
        if (out.why.found()) return out;
        delta_rule& d = out.by;
        picked(d);
        decayed(d);
        if (!all_open(open, {d.soften, d.weigh})) d = with_made_decay(d);
        const delta_rule plain = d;
        biased(d), shared(d), repeated(d);
        const std::initializer_list<std::int32_t> moved = {
            d.copy_decay, d.bias, d.copy_beta, d.sigmoid, d.repeat_queries, d.repeat_keys};
        if (!all_open(open, moved)) d = plain;
        return out;
    }

    /// The same rule, whose decay other launches have made.
    delta_rule with_made_decay(delta_rule d) const {
        d.decay = view_.node(d.rule).src[3], d.decay_factor = d.decay_bias = no_tensor;
        d.decay_at = without_gaps(d);
        d.copy_decay = d.bias = d.soften = d.weigh = -1;
        return d;
    }
    /// The same rule, whose operands lie where other launches have moved them.
    delta_rule with_moved_operands(delta_rule d) const {
        const tensor& t = view_.node(d.rule);
        if (d.bias >= 0) d.decay = view_.node(d.soften).src[0], d.decay_at = without_gaps(d);
        d.decay_bias = no_tensor, d.beta = t.src[4], d.beta_at = without_gaps(d);
        d.queries = t.src[0], d.keys = t.src[1];
        d.key_heads = view_.at(d.keys).ne[1], d.neighbors = false;
        d.queries_at = rows_of_heads(d.queries), d.keys_at = rows_of_heads(d.keys);
        d.copy_decay = d.bias = d.copy_beta = d.sigmoid = d.repeat_queries = d.repeat_keys = -1;
        return d;
    }
    /// The same rule, whose states another launch has gathered.
    delta_rule with_gathered_states(delta_rule d) const {
        d.state = view_.node(d.rule).src[5], d.state_ids = no_tensor;
        d.pick = -1, d.states = d.sequences;
        return d;
    }

  private:
    template <class Open>
    static bool all_open(const Open& open, std::initializer_list<std::int32_t> nodes) {
        return std::all_of(nodes.begin(), nodes.end(),
                           [&](std::int32_t n) { return n < 0 || open(n); });
    }

    /// The most tokens that a warp takes one after the other.
    static constexpr std::int64_t max_tokens = 8;
    static constexpr std::int64_t max_heads = 1024, max_k = 128, max_states = 1 << 20;

    const graph_index& g_;
    const graph_view& view_;

    bool floats(std::int32_t t) const { return plain_rows(view_.at(t)) == reason::none; }
    bool whole(std::int32_t t) const { return floats(t) && contiguous(view_.at(t)); }

    /// The strides of [k, heads, tokens, sequences]: nb2 is -1 where tokens are not equally far
    /// apart.
    row_strides rows_of_heads(std::int32_t t) const {
        const tensor& o = view_.at(t);
        return {o.nb[1], distance_of_rows(o, 2, o.ne[2] * o.ne[3], o.nb[2]), 0};
    }
    static head_places without_gaps(const delta_rule& d) {
        return {d.heads, 4 * d.heads, 4 * d.heads};
    }
    /// Is a tensor a weight that has a number for each head?
    bool number_of_heads(const delta_rule& d, std::int32_t t) const {
        return g_.constant(t) && whole(t) && view_.at(t).ne[0] == d.heads &&
               elements(view_.at(t)) == d.heads;
    }

    /// Is the node the rule, which leaves one state of each sequence, and do its operands fit?
    obstacle sizes(std::int32_t node, delta_rule& d) const {
        if (const obstacle f = node_fits(g_, node, 6); f.found()) return f;
        const tensor& t = view_.node(node);
        d.queries = t.src[0], d.keys = t.src[1], d.values = t.src[2];
        d.decay = t.src[3], d.beta = t.src[4], d.state = t.src[5];
        const tensor& v = view_.at(d.values);
        const tensor& key = view_.at(d.keys);
        d.k = v.ne[0], d.heads = v.ne[1], d.tokens = v.ne[2], d.sequences = v.ne[3];
        d.key_heads = key.ne[1];
        if (d.tokens > max_tokens) return {node, reason::delta_rule_tokens, d.tokens, max_tokens};
        d.queries_at = rows_of_heads(d.queries), d.keys_at = rows_of_heads(d.keys);
        d.values_at = rows_of_heads(d.values);
        d.decay_at = d.beta_at = without_gaps(d);
        const auto of_keys = [&](std::int32_t name, const row_strides& at) {
            return floats(name) && same_shape(view_.at(name), key) && at.nb2 >= 0;
        };
        const tensor& decay = view_.at(d.decay);
        d.by_value = decay.ne[0] == d.k && d.k > 1;
        const auto of_heads = [&](std::int32_t name, std::int64_t width) {
            const tensor& o = view_.at(name);
            return whole(name) && o.ne[0] == width && o.ne[1] == d.heads && o.ne[2] == d.tokens &&
                   o.ne[3] == d.sequences;
        };
        const bool small = d.k <= max_k && d.heads <= max_heads && d.key_heads > 0;
        const bool fits = small && t.params[0] == 1 && contiguous(t) && t.ne[0] == d.k * d.heads &&
                          elements(t) == values(d) + d.state_size() * d.sequences &&
                          floats(d.values) && d.values_at.nb2 >= 0 &&
                          of_keys(d.queries, d.queries_at) && of_keys(d.keys, d.keys_at) &&
                          key.ne[0] == d.k && key.ne[2] == d.tokens && key.ne[3] == d.sequences &&
                          d.heads % d.key_heads == 0 && of_heads(d.decay, d.by_value ? d.k : 1) &&
                          of_heads(d.beta, 1) && whole(d.state) &&
                          elements(view_.at(d.state)) == d.state_size() * d.sequences;
        return fits ? obstacle{} : obstacle{node, reason::delta_rule_shape};
    }
    static std::int64_t values(const delta_rule& d) { return d.k * d.heads * d.all_tokens(); }

    /// Rewrite GET_ROWS(states, ids) to the numbers of the states.
    void picked(delta_rule& d) const {
        d.states = d.sequences;
        const std::int32_t pick = g_.position(g_.root(d.state));
        if (pick < 0 || g_.kind(pick) != op::get_rows || node_fits(g_, pick, 2).found()) return;
        const tensor& t = view_.node(pick);
        const tensor& all = view_.at(t.src[0]);
        const bool fits = g_.only_reader(view_.nodes[pick]).node == d.rule &&
                          names_whole(view_, d.state, view_.nodes[pick]) && whole(t.src[0]) &&
                          all.ne[0] == d.state_size() && all.ne[2] == 1 && all.ne[3] == 1 &&
                          all.ne[1] <= max_states &&
                          numbers_states(view_.at(t.src[1]), d.sequences);
        if (!fits) return;
        d.pick = pick;
        d.state = t.src[0];
        d.state_ids = t.src[1];
        d.states = all.ne[1];
    }

    /// Rewrite MUL(SOFTPLUS(x), factor) to a decay x and the factor of its softplus.
    void decayed(delta_rule& d) const {
        if (d.by_value) return;
        const std::int32_t value = value_behind(view_, d.decay), mul = g_.position(value);
        if (mul < 0 || g_.kind(mul) != op::mul || node_fits(g_, mul, 2).found()) return;
        if (g_.only_reader(value).node != d.rule || !contiguous(view_.at(value))) return;
        for (const int slot : {0, 1}) {
            const std::int32_t of = value_behind(view_, view_.node(mul).src[slot]);
            const std::int32_t soften = g_.position(of), factor = view_.node(mul).src[1 - slot];
            const bool softplus = soften >= 0 && g_.kind(soften) == op::unary &&
                                  view_.node(soften).sub == sub_op::softplus &&
                                  !node_fits(g_, soften, 1).found() &&
                                  g_.only_reader(of).node == mul;
            if (!softplus || !number_of_heads(d, factor) || view_.node(mul).ne[0] != d.heads ||
                elements(view_.at(of)) != d.heads * d.all_tokens() ||
                !whole(view_.node(soften).src[0]))
                continue;
            d.soften = soften, d.weigh = mul;
            d.decay = view_.node(soften).src[0], d.decay_factor = factor;
            return;
        }
    }

    /// Where a number of each head of each token lies, in rows of all heads or of neighboring ones.
    bool places_of(const delta_rule& d, std::int32_t t, head_places& at) const {
        const tensor& o = view_.at(t);
        if (!floats(t) || o.ne[0] * o.ne[1] != d.heads) return false;
        at = {o.ne[0], o.nb[1], distance_of_rows(o, 2, d.all_tokens(), 4 * d.heads)};
        return at.nb2 >= 0;
    }

    /// Rewrite ADD(CONT(x), bias), of which the decay is a softplus, to x and its bias. Without a
    /// CONT the launch of a matrix adds the bias.
    void biased(delta_rule& d) const {
        if (d.soften < 0) return;
        const std::int32_t add = made_for(g_, d.decay, op::add, 2, d.soften);
        const std::int32_t copy =
            add < 0 ? -1 : made_for(g_, view_.node(add).src[0], op::cont, 1, add);
        if (copy < 0 || !number_of_heads(d, view_.node(add).src[1])) return;
        if (!places_of(d, view_.node(copy).src[0], d.decay_at)) return;
        d.copy_decay = copy, d.bias = add;
        d.decay = view_.node(copy).src[0], d.decay_bias = view_.node(add).src[1];
    }

    /// Rewrite SIGMOID(CONT(x)) to a logit x of beta. Without a CONT the launch of a matrix applies
    /// the function.
    void shared(delta_rule& d) const {
        const std::int32_t unary = made_for(g_, d.beta, op::unary, 1, d.rule);
        if (unary < 0 || view_.node(unary).sub != sub_op::sigmoid) return;
        const std::int32_t copy = made_for(g_, view_.node(unary).src[0], op::cont, 1, unary);
        if (copy < 0 || !places_of(d, view_.node(copy).src[0], d.beta_at)) return;
        d.copy_beta = copy, d.sigmoid = unary;
        d.beta = view_.node(copy).src[0];
    }

    /// Rewrite REPEAT(queries) and REPEAT(keys), which have each head several times, one behind the
    /// other, to heads that neighbors share.
    void repeated(delta_rule& d) const {
        const std::int32_t q = made_for(g_, d.queries, op::repeat, 1, d.rule),
                           k = made_for(g_, d.keys, op::repeat, 1, d.rule);
        if (q < 0 || k < 0 || !repeats_heads(d, q) || !repeats_heads(d, k)) return;
        d.repeat_queries = q, d.repeat_keys = k;
        d.queries = view_.node(q).src[0], d.keys = view_.node(k).src[0];
        const auto at = [this](std::int32_t t) -> row_strides {
            return {view_.at(t).nb[2], view_.at(t).nb[3], 0};
        };
        d.queries_at = at(d.queries), d.keys_at = at(d.keys);
        d.key_heads = view_.at(d.keys).ne[2], d.neighbors = true;
    }
    bool repeats_heads(const delta_rule& d, std::int32_t node) const {
        const tensor &t = view_.node(node), &from = view_.at(t.src[0]);
        return floats(t.src[0]) && from.ne[0] == d.k && from.ne[1] == 1 &&
               from.ne[2] * t.ne[1] == d.heads && from.ne[3] == d.all_tokens() && t.ne[0] == d.k &&
               t.ne[2] == from.ne[2] && t.ne[3] == from.ne[3];
    }
};

}  // namespace CATENA_NAMESPACE
