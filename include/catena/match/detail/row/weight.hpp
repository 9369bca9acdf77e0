// mul_weight: the MUL by the norm's weight. add_bias: the ADD of its bias. mul_next_weight belongs
// to the norm that it scales: norm.hpp finds both together.
#pragma once

#include "catena/match/detail/row/stage.hpp"
#include "catena/match/ggml_cuda.hpp"

namespace CATENA_NAMESPACE {

/// The MUL of a norm by its weight. The MUL must be the norm's only reader.
struct weighted {
    obstacle why;
    std::int32_t mul = -1, weight = no_tensor;
};
inline weighted weight_of(const site& s, const match& m) {
    const graph_index& g = s.index;
    const std::int32_t n = m.activation;
    if (!g.read_by(n, op::mul)) return {{m.node, reason::unscaled}};
    if (g.reader_count(n) != 1) return {{m.node, reason::read_elsewhere, g.reader_count(n)}};
    if (g.output(n)) return {{m.node, reason::is_output}};
    if (g.read_outside(n)) return {{m.node, reason::read_outside}};
    const use only = g.readers(n)[0];
    if (const obstacle f = node_fits(g, only.node, 2); f.found()) return {f};
    if (only.slot > 1) return {{only.node, reason::missing_source}};
    if (!s.goes_on(m, only)) return {{only.node, reason::reshaped}};
    return {{}, only.node, s.view.node(only.node).src[1 - only.slot]};
}

/// Rewrite SCALE(v, c) to v with norm_scale = c, where v is a norm, weighted or not. The SCALE must
/// be the only reader of v.
inline void take_norm_scale(const site& s, match& m, stage_kind stage) {
    const std::int32_t scale = s.index.only_reader(m.activation).node;
    if (scale < 0 || engine_fuses(s.index, scale)) return;
    const std::optional<float> by = scale_at(s.index, scale);
    const std::int32_t result = s.view.nodes[scale];
    if (!by || s.view.at(result).src[0] != m.activation || rows_fit(s.index, scale, result).found())
        return;
    m.take({stage, scale});
    m.params.norm_scale = *by;
    m.activation = result;
}

/// The reader behind the norm's only reader, which is its MUL or SCALE: the only reader of that
/// node's result.
inline use behind_scale(const site& s) {
    const use scale = s.index.only_reader(s.view.nodes[s.node]);
    return scale.node < 0 ? use{} : s.index.only_reader(s.view.nodes[scale.node]);
}
inline bool read_behind_scale_by(const site& s, op kind) {
    const use behind = behind_scale(s);
    return behind.node >= 0 && s.index.kind(behind.node) == kind;
}

template <>
struct stage_match<stage_kind::mul_weight> : idle_match {
    /// Rewrite MUL(v, weight) to mul_weight(v, weight), and SCALE(MUL(v, weight), c) to that with
    /// norm_scale = c. v is the norm.
    static obstacle take(const site& s, match& m) {
        const weighted w = weight_of(s, m);
        if (w.why.found()) return w.why;
        m.take({stage_kind::mul_weight, w.mul});
        m.reads[operand::weight].tensor = w.weight;
        m.activation = s.view.nodes[w.mul];
        if (const obstacle f = s.vector_fits(m, w.mul, w.weight); f.found()) return f;
        take_norm_scale(s, m, stage_kind::mul_weight);
        return {};
    }
};

template <>
struct stage_match<stage_kind::add_bias> : idle_match {
    static bool may_fit(const site& s) { return read_behind_scale_by(s, op::add); }

    /// Rewrite ADD(v, bias) to add_bias(v, bias). The ADD must be the only reader of v.
    static obstacle take(const site& s, match& m) {
        const use u = s.index.only_reader(m.activation);
        if (u.node < 0 || u.slot > 1 || s.index.kind(u.node) != op::add)
            return {m.node, reason::unbiased};
        if (const obstacle f = node_fits(s.index, u.node, 2); f.found()) return f;
        if (!s.goes_on(m, u)) return {u.node, reason::reshaped};
        const std::int32_t bias = s.view.node(u.node).src[1 - u.slot];
        m.take({stage_kind::add_bias, u.node});
        m.reads[operand::bias].tensor = bias;
        m.activation = s.view.nodes[u.node];
        return s.vector_fits(m, u.node, bias);
    }
};

template <>
struct stage_match<stage_kind::mul_next_weight> : idle_match {};

}  // namespace CATENA_NAMESPACE
