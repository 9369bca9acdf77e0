// Finds linear attention by the gated delta rule that one launch can take: a GATED_DELTA_NET with
// the nodes that pick its state, make its decay and keep the next state.
//
// `Rewrite A to B` above a rule says which nodes A the rule takes over, and which operands of a
// launch B replace them. Names in capitals are ggml's ops.
#pragma once

#include "catena/match/detail/match.hpp"
#include "catena/match/detail/state.hpp"

#include <cstdint>

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
        if (!out.why.found() && !kept_behind(out.by)) out.why = {node, reason::delta_rule_state};
        if (out.why.found()) return out;
        picked(out.by);
        decayed(out.by);
        if (out.by.weigh >= 0 && !(open(out.by.soften) && open(out.by.weigh)))
            out.by = with_made_decay(out.by);
        return out;
    }

    /// The same rule, whose decay other launches have made.
    delta_rule with_made_decay(delta_rule d) const {
        d.decay = view_.node(d.rule).src[3], d.decay_factor = no_tensor;
        d.soften = d.weigh = -1;
        return d;
    }
    /// The same rule, whose state another launch has gathered.
    delta_rule with_gathered_state(delta_rule d) const {
        d.state = view_.node(d.rule).src[5], d.state_id = no_tensor;
        d.pick = -1, d.states = 1;
        return d;
    }

  private:
    /// The most tokens that a warp takes one after the other.
    static constexpr std::int64_t max_tokens = 8;
    static constexpr std::int64_t max_heads = 1024, max_k = 128, max_states = 1 << 20;

    const graph_index& g_;
    const graph_view& view_;

    bool floats(std::int32_t t) const { return plain_rows(view_.at(t)) == reason::none; }
    bool whole(std::int32_t t) const { return floats(t) && contiguous(view_.at(t)); }

    /// Is the node the rule for one sequence, which leaves one state, and do its operands fit?
    obstacle sizes(std::int32_t node, delta_rule& d) const {
        if (const obstacle f = node_fits(g_, node, 6); f.found()) return f;
        const tensor& t = view_.node(node);
        d.queries = t.src[0], d.keys = t.src[1], d.values = t.src[2];
        d.decay = t.src[3], d.beta = t.src[4], d.state = t.src[5];
        const tensor& v = view_.at(d.values);
        const tensor& key = view_.at(d.keys);
        d.k = v.ne[0], d.heads = v.ne[1], d.tokens = v.ne[2], d.key_heads = key.ne[1];
        if (v.ne[3] != 1) return {node, reason::delta_rule_sequences, v.ne[3]};
        if (d.tokens > max_tokens) return {node, reason::delta_rule_tokens, d.tokens, max_tokens};
        const auto of_keys = [&](std::int32_t name) {
            const tensor& o = view_.at(name);
            return floats(name) && same_shape(o, key);
        };
        const tensor& decay = view_.at(d.decay);
        d.by_value = decay.ne[0] == d.k && d.k > 1;
        const auto of_heads = [&](std::int32_t name, std::int64_t width) {
            const tensor& o = view_.at(name);
            return whole(name) && o.ne[0] == width && o.ne[1] == d.heads && o.ne[2] == d.tokens &&
                   o.ne[3] == 1;
        };
        const bool small = d.k <= max_k && d.heads <= max_heads && d.key_heads > 0;
        const bool fits = small && t.params[0] == 1 && contiguous(t) && t.ne[0] == d.k * d.heads &&
                          elements(t) == d.k * d.heads * (d.tokens + d.k) && floats(d.values) &&
                          of_keys(d.queries) && of_keys(d.keys) && key.ne[0] == d.k &&
                          key.ne[2] == d.tokens && key.ne[3] == 1 && d.heads % d.key_heads == 0 &&
                          of_heads(d.decay, d.by_value ? d.k : 1) && of_heads(d.beta, 1) &&
                          whole(d.state) && elements(view_.at(d.state)) == d.state_size();
        return fits ? obstacle{} : obstacle{node, reason::delta_rule_shape};
    }

    /// Rewrite GET_ROWS(states, id) to the number of the state.
    void picked(delta_rule& d) const {
        d.states = 1;
        const std::int32_t pick = g_.position(g_.root(d.state));
        if (pick < 0 || g_.kind(pick) != op::get_rows || node_fits(g_, pick, 2).found()) return;
        const tensor& t = view_.node(pick);
        const tensor& all = view_.at(t.src[0]);
        const tensor& id = view_.at(t.src[1]);
        const bool fits = g_.only_reader(view_.nodes[pick]).node == d.rule &&
                          names_whole(view_, d.state, view_.nodes[pick]) && whole(t.src[0]) &&
                          all.ne[0] == d.state_size() && all.ne[2] == 1 && all.ne[3] == 1 &&
                          all.ne[1] <= max_states && id.type == format::i32 && id.reachable &&
                          elements(id) == 1 && words_aligned(id);
        if (!fits) return;
        d.pick = pick;
        d.state = t.src[0];
        d.state_id = t.src[1];
        d.states = all.ne[1];
    }

    /// Rewrite CPY(VIEW(result), next_state) to a store of the state. Do all others read values
    /// alone?
    bool kept_behind(delta_rule& d) const {
        const std::int32_t result = view_.nodes[d.rule];
        const std::int64_t values = 4 * d.k * d.heads * d.tokens;
        if (g_.read_outside(result) || g_.output(result)) return false;
        for (const use& u : g_.readers(result)) {
            const std::int32_t name = view_.node(u.node).src[u.slot];
            const std::int64_t offset = offset_in(g_, name, result);
            if (offset >= 0 && offset + extent_bytes(view_.at(name)) <= values) continue;
            if (d.keep >= 0 || g_.kind(u.node) != op::cpy || u.slot != 0 || offset != values ||
                !keeps(d, u.node))
                return false;
            d.keep = u.node;
        }
        return true;
    }
    bool keeps(const delta_rule& d, std::int32_t node) const {
        const tensor& to = view_.node(node);
        return whole(to.src[0]) && elements(view_.at(to.src[0])) == d.state_size() &&
               (to.flags & flag_compute) != 0 && to.type == format::f32 && to.reachable &&
               contiguous(to) && elements(to) == d.state_size() && words_aligned(to);
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
            const bool numbers = g_.constant(factor) && whole(factor) &&
                                 view_.at(factor).ne[0] == d.heads &&
                                 elements(view_.at(factor)) == d.heads;
            if (!softplus || !numbers || view_.node(mul).ne[0] != d.heads ||
                elements(view_.at(of)) != d.heads * d.tokens || !whole(view_.node(soften).src[0]))
                continue;
            d.soften = soften, d.weigh = mul;
            d.decay = view_.node(soften).src[0], d.decay_factor = factor;
            return;
        }
    }
};

}  // namespace CATENA_NAMESPACE
