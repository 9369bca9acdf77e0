// glu: a gated value, which begins a chain. gate: what a norm made, multiplied with f(gate).
#pragma once

#include "catena/match/detail/row/weight.hpp"

#include <algorithm>
#include <utility>

namespace CATENA_NAMESPACE {

/// Takes over the nodes of a gated value that begins or ends at `node`, and its operands but x.
inline void take_gated(match& m, stage_kind stage, std::int32_t node, const gated& v) {
    if (v.copy >= 0 && v.copy != node) m.take({stage, v.copy, true});
    if (v.unary >= 0) m.take({stage, v.unary, true});
    m.take({stage, node});
    m.reads[operand::gate] = v.gate;
    m.params.function = v.function;
    m.params.alpha = v.alpha;
    m.params.limit = v.limit;
}

template <>
struct stage_match<stage_kind::glu> : idle_match {
    static bool may_fit(const site& s) {
        switch (s.index.kind(s.node)) {
            case op::glu:
            case op::mul:
                return !s.chain.alone;
            case op::unary:
            case op::sqr:
            case op::cont:
                return s.chain.alone;
            default:
                return false;
        }
    }

    /// Rewrite GLU(gate, x) and MUL(x, UNARY(gate)) to glu(gate, x), and MUL(x, gate) too if a
    /// quantized matrix multiplies it. A chain whose value is f(gate) alone: rewrite UNARY(gate),
    /// SQR(RELU(gate)) and CONT(gate) to glu(gate). A CONT between a UNARY and its gate goes, too.
    static obstacle take(const site& s, match& m) {
        const gated v = gathered_at(s.index, m.node);
        m.activation = s.view.nodes[m.node];
        if (v.why.found()) return v.why;
        if (v.product() && !multiplied_quantized(s, m.activation)) return {m.node, reason::no_gate};
        if (const obstacle f = rows_fit(s.index, m.node, m.activation); f.found()) return f;
        if (const std::int64_t n = elements(s.view.at(m.activation)); n > max_values)
            return {m.node, reason::too_large, n, max_values};
        take_gated(m, stage_kind::glu, m.node, v);
        m.reads[operand::x] = v.x;
        return {};
    }

  private:
    /// Does a quantized matrix multiply the value? Nothing is gained by any other product.
    static bool multiplied_quantized(const site& s, std::int32_t value) {
        const array_view<use> readers = s.index.readers(s.index.root(value));
        return std::any_of(readers.begin(), readers.end(), [&s](const use& u) {
            const tensor& t = s.view.node(u.node);
            return is_matmul(t.kind) && u.slot == 1 && t.src[0] != no_tensor &&
                   info(s.view.at(t.src[0]).type).role == format_role::weight;
        });
    }
};

template <>
struct stage_match<stage_kind::gate> : idle_match {
    static bool may_fit(const site& s) {
        return !s.chain.has(stage_kind::mul_weight) || read_behind_scale_by(s, op::mul);
    }

    /// Rewrite MUL(v, UNARY(gate)) and MUL(v, gate) to gate(v, gate). The MUL must be the only
    /// reader of v.
    static obstacle take(const site& s, match& m) {
        const use u = s.index.only_reader(m.activation);
        if (u.node < 0 || s.index.kind(u.node) != op::mul) return {m.node, reason::ungated};
        gated v = gated_at(s.index, u.node);
        if (v.product() && v.gate.tensor == m.activation &&
            same_shape(s.view.at(m.activation), s.view.node(u.node)))
            std::swap(v.x, v.gate);
        if (v.why.why == reason::no_gate) return {m.node, reason::ungated};
        if (v.why.found()) return v.why;
        if (!names_whole(s.view, v.x.tensor, m.activation) ||
            !same_shape(s.view.at(v.x.tensor), s.view.node(m.node)))
            return {u.node, reason::reshaped};
        take_gated(m, stage_kind::gate, u.node, v);
        m.activation = s.view.nodes[u.node];
        return rows_fit(s.index, u.node, m.activation);
    }
};

}  // namespace CATENA_NAMESPACE
