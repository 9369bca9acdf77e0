// rms_norm, layer_norm: the RMS_NORM or NORM itself. next_norm: the RMS_NORM of a sum that a first
// norm joined, with its weight.
#pragma once

#include "catena/match/detail/row/weight.hpp"

namespace CATENA_NAMESPACE {

/// Takes over the input and the eps of a norm, which is the node of `m`. The norm's result becomes
/// the value so far.
inline obstacle take_norm(const site& s, match& m, float& eps) {
    if (const obstacle f = node_fits(s.index, m.node, 1); f.found()) return f;
    const tensor& n = s.view.node(m.node);
    m.reads[operand::x] = s.rows(n.src[0]);
    if (!same_shape(n, s.view.at(n.src[0]))) return {m.node, reason::reshaped};
    if (const obstacle f = rows_fit(s.index, m.node, n.src[0]); f.found()) return f;
    if (elements(n) > max_values) return {m.node, reason::too_large, elements(n), max_values};
    if (!finite_from_zero(n.params[0])) return {m.node, reason::eps};
    eps = float_of(n.params[0]);
    m.activation = s.view.nodes[m.node];
    return {};
}

/// Do the readers of a norm want it without a weight? A norm without a gate must not have one MUL
/// as its only reader. A gated norm must have one, by something else than a weight of one row.
inline bool unweighted(const site& s) {
    const bool gate = s.chain.has(stage_kind::gate);
    const use only = s.index.only_reader(s.view.nodes[s.node]);
    if (only.node < 0 || only.slot > 1 || s.index.kind(only.node) != op::mul) return !gate;
    const std::int32_t other = s.view.node(only.node).src[1 - only.slot];
    return gate && other != no_tensor &&
           !(s.index.constant(other) && elements(s.view.at(other)) == s.view.node(s.node).ne[0]);
}

template <stage_kind Kind, op Node>
struct norm_match : idle_match {
    static bool may_fit(const site& s) {
        return s.index.kind(s.node) == Node &&
               (s.chain.has(stage_kind::mul_weight) || unweighted(s));
    }

    /// Rewrite RMS_NORM(x) to rms_norm(x), and NORM(x) to layer_norm(x). A chain without a weight:
    /// rewrite SCALE(RMS_NORM(x), c) to rms_norm(x) with norm_scale = c.
    static obstacle take(const site& s, match& m) {
        if (const obstacle f = take_norm(s, m, m.params.eps); f.found()) return f;
        m.take({Kind, m.node});
        if (s.chain.has(stage_kind::mul_weight)) return {};
        if (const obstacle f = rows_fit(s.index, m.node, m.activation); f.found()) return f;
        take_norm_scale(s, m, Kind);
        return {};
    }
};
template <>
struct stage_match<stage_kind::rms_norm> : norm_match<stage_kind::rms_norm, op::rms_norm> {};
template <>
struct stage_match<stage_kind::layer_norm> : norm_match<stage_kind::layer_norm, op::norm> {};

template <>
struct stage_match<stage_kind::next_norm> : idle_match {
    /// Rewrite MUL(RMS_NORM(v), next_weight) to mul_next_weight(next_norm(v), next_weight), where v
    /// is the sum of a norm and a residual. Others may read v, too. Of several such norms the first
    /// that fits is taken.
    static obstacle take(const site& s, match& m) {
        const std::int32_t sum = m.activation;
        obstacle why{m.sum, reason::not_normed_again};
        for (const use& u : s.index.readers(sum)) {
            if (s.index.kind(u.node) != op::rms_norm) continue;
            match next;
            next.node = u.node;
            float eps = 0;
            why = take_norm(s, next, eps);
            weighted w;
            if (!why.found()) w = weight_of(s, next), why = w.why;
            if (!why.found()) next.activation = s.view.nodes[w.mul];
            if (!why.found()) why = s.vector_fits(next, w.mul, w.weight);
            if (why.found()) continue;
            const std::int32_t x = next.reads[operand::x].tensor;
            if (!names_whole(s.view, x, sum) || !same_shape(s.view.at(x), s.view.at(sum))) {
                why = {u.node, reason::reshaped};
                continue;
            }
            m.take({stage_kind::next_norm, u.node});
            m.take({stage_kind::mul_next_weight, w.mul});
            m.reads[operand::next_weight].tensor = w.weight;
            m.params.next_eps = eps;
            m.activation = next.activation;
            m.sum_needed = s.needed(sum);
            return {};
        }
        return why;
    }
};

}  // namespace CATENA_NAMESPACE
