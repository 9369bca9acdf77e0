// add_residual: the ADD whose sum a norm reads. scale: the SCALE that a norm reads, or the SCALE of
// one part of that sum. join_residual: the ADD of a residual to a weighted norm, with a MUL of the
// sum by a number in memory.
#pragma once

#include "catena/match/detail/row/weight.hpp"

namespace CATENA_NAMESPACE {

template <>
struct stage_match<stage_kind::add_residual> : idle_match {
    static bool may_fit(const site& s) { return s.reads_open(op::add); }

    /// Rewrite ADD(x, residual), which the norm reads, to add_residual(x, residual). Both have the
    /// shape of the sum.
    static obstacle take(const site& s, match& m) {
        if (s.chain.has(stage_kind::combine)) return {};  // the stage combine finds it
        const std::int32_t sum = m.reads[operand::x].tensor, add = s.index.position(sum);
        if (add < 0 || s.view.at(sum).kind != op::add) return {m.node, reason::no_residual};
        if (const obstacle f = node_fits(s.index, add, 2); f.found()) return f;
        const std::int32_t* parts = s.view.at(sum).src;
        for (const int i : {0, 1}) {
            if (!same_shape(s.view.at(parts[i]), s.view.at(sum))) return {add, reason::no_residual};
            if (const obstacle f = rows_fit(s.index, add, parts[i]); f.found()) return f;
        }
        m.reads[operand::x] = s.rows(parts[0]);
        m.reads[operand::residual] = s.rows(parts[1]);
        m.take({stage_kind::add_residual, add});
        m.sum = add;
        m.sum_needed = s.needed(sum);
        return {};
    }
};

template <>
struct stage_match<stage_kind::scale> : idle_match {
    static bool may_fit(const site& s) {
        return s.chain.has(stage_kind::add_residual) || s.reads_open(op::scale);
    }

    static obstacle take(const site& s, match& m) {
        if (s.chain.has(stage_kind::combine)) return {};  // the stage combine finds it
        return s.chain.has(stage_kind::add_residual) ? take_of_part(s, m) : take_of_input(s, m);
    }

  private:
    static void take_number(const site& s, match& m, std::int32_t node, std::int32_t x, float by) {
        m.take({stage_kind::scale, node});
        m.reads[operand::x] = s.rows(x);
        m.params.x_scale = by;
    }

    /// Rewrite ADD(SCALE(x, c), residual) to add_residual(scale(x, c), residual). Without a SCALE
    /// the stage is left out.
    static obstacle take_of_part(const site& s, match& m) {
        const std::int32_t* parts = s.view.node(m.sum).src;
        for (const int i : {0, 1}) {
            const scaled_value x = unscaled(s.index, parts[i], m.sum);
            if (x.scale < 0 || !s.open(x.scale)) continue;
            m.reads[operand::residual] = s.rows(parts[1 - i]);
            take_number(s, m, x.scale, x.value, x.by);
            return {};
        }
        m.stages = m.stages.without(stage_kind::scale);
        return {};
    }

    /// Rewrite SCALE(x, c), which the norm reads, to scale(x, c). Others may read the scaled rows,
    /// too, as they may read a sum.
    static obstacle take_of_input(const site& s, match& m) {
        const std::int32_t x = m.reads[operand::x].tensor, scale = s.index.position(x);
        const std::optional<float> by = scale_at(s.index, scale);
        if (!by || rows_fit(s.index, scale, x).found()) return {m.node, reason::no_scale};
        take_number(s, m, scale, s.view.at(x).src[0], *by);
        m.sum = scale;
        m.sum_needed = s.needed(x);
        return {};
    }
};

template <>
struct stage_match<stage_kind::join_residual> : idle_match {
    /// Is the ADD free, that is not covered by a step such as an epilogue? If the chain has a
    /// second norm, an RMS_NORM must read the sum, or the sum times a number.
    static bool may_fit(const site& s) {
        const use add = behind_scale(s);
        if (add.node < 0 || s.index.kind(add.node) != op::add || !s.open(add.node)) return false;
        const use next = s.index.only_reader(s.view.nodes[add.node]);
        const bool product = next.node >= 0 && s.index.kind(next.node) == op::mul;
        const std::int32_t sum = s.view.nodes[product ? next.node : add.node];
        return !s.chain.has(stage_kind::next_norm) || s.index.read_by(sum, op::rms_norm);
    }

    /// Rewrite ADD(v, residual) to join_residual(v, residual), and MUL(ADD(v, residual), factor) to
    /// join_residual(v, residual, factor). The ADD must be the only reader of v.
    static obstacle take(const site& s, match& m) {
        const use u = s.index.only_reader(m.activation);
        if (u.node < 0 || u.slot > 1 || s.index.kind(u.node) != op::add)
            return {m.node, reason::unjoined};
        if (const obstacle f = node_fits(s.index, u.node, 2); f.found()) return f;
        const tensor& sum = s.view.node(u.node);
        const std::int32_t residual = sum.src[1 - u.slot];
        if (!same_shape(s.view.at(residual), sum)) return {m.node, reason::unjoined};
        if (!s.goes_on(m, u)) return {u.node, reason::reshaped};
        take_sum(s, m, u.node);
        m.reads[operand::residual] = s.rows(residual);
        if (const obstacle f = rows_fit(s.index, u.node, residual); f.found()) return f;
        take_factor(s, m);
        return rows_fit(s.index, m.sum, m.activation);
    }

  private:
    static void take_sum(const site& s, match& m, std::int32_t node) {
        m.take({stage_kind::join_residual, node});
        m.sum = node;
        m.activation = s.view.nodes[node];
    }

    /// Takes over the MUL of the sum by one number in memory, if it is the sum's only reader.
    static void take_factor(const site& s, match& m) {
        const graph_index& g = s.index;
        const use u = g.only_reader(m.activation);
        if (u.node < 0 || u.slot > 1 || node_fits(g, u.node, 2).found()) return;
        const tensor& product = s.view.node(u.node);
        if (product.kind != op::mul || product.src[u.slot] != m.activation) return;
        const std::int32_t factor = product.src[1 - u.slot];
        if (!g.constant(factor) || elements(s.view.at(factor)) != 1 ||
            rows_fit(g, u.node, factor).found() ||
            rows_fit(g, u.node, s.view.nodes[u.node]).found())
            return;
        m.reads[operand::factor].tensor = factor;
        take_sum(s, m, u.node);
    }
};

}  // namespace CATENA_NAMESPACE
