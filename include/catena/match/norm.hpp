// A chain with a norm: from its RMS_NORM or NORM to the ops behind it, then to those before it.
// What is read by the next op alone is not written.
#pragma once

#include "catena/match/engine_fuses.hpp"
#include "catena/match/match.hpp"

#include <cstring>
#include <utility>

namespace catena {

class norm_matcher {
  public:
    norm_matcher(const graph_index& index, const pattern& chain)
        : index_(index), view_(index.view), chain_(chain) {}

    /// The place at node `position`, without its readers.
    match at(std::int32_t position, slot_sums& sums) const {
        match m;
        m.stages = chain_.stages;
        m.norm = position;
        m.stream = view_.node(position).stream;
        m.why = norm_fits(m);
        if (!m.found()) return m;
        take_scale(m);
        const auto next = [&](stage_kind kind) { return m.found() && chain_.has(kind); };
        if (next(stage_kind::add_bias)) m.why = bias_fits(m);
        if (next(stage_kind::gate)) m.why = gate_fits(m);
        if (next(stage_kind::combine))
            m.why = experts_fit(m, sums);
        else if (next(stage_kind::add_residual))
            m.why = residual_fits(m);
        if (next(stage_kind::join_residual)) m.why = join_fits(m);
        if (next(stage_kind::next_norm)) m.why = again_fits(m);
        return m;
    }

  private:
    const graph_index& index_;
    const graph_view& view_;
    const pattern& chain_;

    const tensor& src(std::int32_t position, int slot) const {
        return view_.at(view_.node(position).src[slot]);
    }

    row_operand rows(std::int32_t t) const {
        return t == no_tensor ? row_operand{} : row_operand{t, 0, strides_of(view_.at(t))};
    }

    finding norm_fits(match& m) const {
        if (const finding f = node_fits(index_, m.norm, 1); !f.fits()) return f;
        const tensor& n = view_.node(m.norm);
        m.x = rows(n.src[0]);
        if (!same_shape(n, view_.at(m.x.tensor))) return {m.norm, reason::reshaped};
        if (const finding f = rows_fit(index_, m.norm, m.x.tensor); !f.fits()) return f;
        if (elements(n) > max_values) return {m.norm, reason::too_large, elements(n), max_values};
        if (!finite_from_zero(n.params[0])) return {m.norm, reason::eps};
        std::memcpy(&m.eps, &n.params[0], sizeof(m.eps));
        m.activation = view_.nodes[m.norm];
        return chain_.has(stage_kind::mul_weight) ? weight_fits(m)
                                                  : rows_fit(index_, m.norm, m.activation);
    }

    /// The MUL by the norm's weight must be its only reader.
    finding weight_fits(match& m) const {
        const std::int32_t n = m.activation;
        if (!index_.read_by(n, op::mul)) return {m.norm, reason::unscaled};
        if (index_.reader_count(n) != 1)
            return {m.norm, reason::read_elsewhere, index_.reader_count(n)};
        if (index_.output(n)) return {m.norm, reason::is_output};
        if (index_.read_outside(n)) return {m.norm, reason::read_outside};
        const use only = index_.readers(n)[0];
        if (const finding f = node_fits(index_, only.node, 2); !f.fits()) return f;
        if (only.slot > 1) return {only.node, reason::missing_source};
        if (!goes_on(m, only)) return {only.node, reason::reshaped};
        m.mul = only.node;
        m.weight = view_.node(m.mul).src[1 - only.slot];
        m.activation = view_.nodes[m.mul];
        return vector_fits(m, m.mul, m.weight);
    }

    /// Takes over the SCALE that alone reads the norm.
    void take_scale(match& m) const {
        const std::int32_t scale = index_.only_reader(m.activation).node;
        if (scale < 0 || engine_fuses(index_, scale)) return;
        const number_of n = scale_at(index_, scale);
        const std::int32_t result = view_.nodes[scale];
        if (!n.found || view_.at(result).src[0] != m.activation ||
            !rows_fit(index_, scale, result).fits())
            return;
        m.norm_scale = scale, m.norm_times = n.by;
        m.activation = result;
    }

    /// An ADD of a bias must be the only reader of the result so far.
    finding bias_fits(match& m) const {
        const use u = index_.only_reader(m.activation);
        if (u.node < 0 || u.slot > 1 || index_.kind(u.node) != op::add)
            return {m.norm, reason::unbiased};
        if (const finding f = node_fits(index_, u.node, 2); !f.fits()) return f;
        if (!goes_on(m, u)) return {u.node, reason::reshaped};
        m.bias_add = u.node;
        m.bias = view_.node(u.node).src[1 - u.slot];
        m.activation = view_.nodes[u.node];
        return vector_fits(m, u.node, m.bias);
    }

    /// Does a reader take the result so far whole, and keep its shape?
    bool goes_on(const match& m, const use& u) const {
        const tensor& value = view_.at(m.activation);
        const tensor& name = src(u.node, u.slot);
        return names_whole(view_, view_.node(u.node).src[u.slot], m.activation) &&
               same_shape(name, value) && same_shape(view_.node(u.node), value);
    }

    /// A leaf of one row that node `position` reads, and that node's result.
    finding vector_fits(const match& m, std::int32_t position, std::int32_t leaf) const {
        const tensor& w = view_.at(leaf);
        const std::int64_t k = view_.node(m.norm).ne[0];
        if (!index_.constant(leaf)) return {position, reason::weight_not_leaf};
        if (w.type != format::f32) return {position, reason::weight_not_f32};
        if (w.ne[0] != k || elements(w) != k)
            return {position, reason::weight_shape, elements(w), k};
        if (const finding f = rows_fit(index_, position, leaf); !f.fits()) return f;
        return rows_fit(index_, position, m.activation);
    }

    /// A MUL by a function of a gate must be the only reader of the result so far.
    finding gate_fits(match& m) const {
        const use u = index_.only_reader(m.activation);
        if (u.node < 0 || index_.kind(u.node) != op::mul) return {m.norm, reason::ungated};
        gated v = gated_at(index_, u.node);
        if (v.product() && v.gate.tensor == m.activation &&
            same_shape(view_.at(m.activation), view_.node(u.node)))
            std::swap(v.x, v.gate);
        if (v.why.why == reason::no_gate) return {m.norm, reason::ungated};
        if (!v.why.fits()) return v.why;
        if (!names_whole(view_, v.x.tensor, m.activation) ||
            !same_shape(view_.at(v.x.tensor), view_.node(m.norm)))
            return {u.node, reason::reshaped};
        m.glu = u.node;
        m.unary = v.unary;
        m.gate = v.gate;
        m.function = v.function;
        m.activation = view_.nodes[u.node];
        return rows_fit(index_, u.node, m.activation);
    }

    /// x is the result of an ADD of two tensors of its shape: the chain takes the ADD over.
    finding residual_fits(match& m) const {
        const std::int32_t sum = m.x.tensor;
        m.add = index_.position(sum);
        if (m.add < 0 || view_.at(sum).kind != op::add) return {m.norm, reason::no_residual};
        if (const finding f = node_fits(index_, m.add, 2); !f.fits()) return f;
        const std::int32_t* parts = view_.at(sum).src;
        for (const int s : {0, 1}) {
            if (!same_shape(view_.at(parts[s]), view_.at(sum))) return {m.add, reason::no_residual};
            if (const finding f = rows_fit(index_, m.add, parts[s]); !f.fits()) return f;
        }
        m.x = rows(parts[0]);
        m.residual = rows(parts[1]);
        for (const int s : {1, 0}) {
            const scaled_value x = unscaled(index_, parts[s], m.add);
            if (x.scale < 0) continue;
            m.x = rows(x.value);
            m.residual = rows(parts[1 - s]);
            m.x_scale = x.scale, m.x_times = x.by;
        }
        m.sum_needed = needed(sum);
        return {};
    }

    /// x is what experts made, with all that joins it: the chain takes the whole sum over.
    finding experts_fit(match& m, slot_sums& sums) const {
        const std::int32_t sum = m.x.tensor;
        m.experts = sums.whole(sum);
        if (!m.experts.found()) return {m.norm, reason::no_experts};
        m.add = index_.position(sum);
        m.x = rows(m.experts.shared);
        m.residual = rows(m.experts.residual);
        if (m.residual.tensor == no_tensor)
            m.stages = m.stages.without(stage_set::of(stage_kind::add_residual));
        m.x_times = m.experts.scale;
        m.sum_needed = needed(sum);
        return {};
    }

    /// Does anybody read a sum but the norm of the chain?
    bool needed(std::int32_t sum) const {
        return index_.reader_count(sum) != 1 || index_.read_outside(sum) || index_.output(sum);
    }

    /// An ADD of a tensor of its shape must be the only reader of the result so far.
    finding join_fits(match& m) const {
        const use u = index_.only_reader(m.activation);
        if (u.node < 0 || u.slot > 1 || index_.kind(u.node) != op::add)
            return {m.norm, reason::unjoined};
        if (const finding f = node_fits(index_, u.node, 2); !f.fits()) return f;
        const tensor& sum = view_.node(u.node);
        const std::int32_t residual = sum.src[1 - u.slot];
        if (!same_shape(view_.at(residual), sum)) return {m.norm, reason::unjoined};
        if (!goes_on(m, u)) return {u.node, reason::reshaped};
        m.add = u.node;
        m.residual = rows(residual);
        m.activation = view_.nodes[u.node];
        if (const finding f = rows_fit(index_, u.node, residual); !f.fits()) return f;
        take_factor(m);
        return rows_fit(index_, m.sum(), m.activation);
    }

    /// Takes over the MUL by a number in memory that alone reads the sum.
    void take_factor(match& m) const {
        const use u = index_.only_reader(m.activation);
        if (u.node < 0 || u.slot > 1 || !node_fits(index_, u.node, 2).fits()) return;
        const tensor& product = view_.node(u.node);
        if (product.kind != op::mul || product.src[u.slot] != m.activation) return;
        const std::int32_t factor = product.src[1 - u.slot];
        if (!index_.constant(factor) || elements(view_.at(factor)) != 1 ||
            !rows_fit(index_, u.node, factor).fits() ||
            !rows_fit(index_, u.node, view_.nodes[u.node]).fits())
            return;
        m.sum_mul = u.node;
        m.sum_factor = factor;
        m.activation = view_.nodes[u.node];
    }

    /// The sum goes on, and so does its norm: by the first RMS_NORM of it that fits.
    finding again_fits(match& m) const {
        const std::int32_t sum = m.activation;
        finding why{m.add, reason::not_normed_again};
        for (const use& u : index_.readers(sum)) {
            if (index_.kind(u.node) != op::rms_norm) continue;
            match next;
            next.norm = u.node;
            why = norm_fits(next);
            if (why.fits() && !(names_whole(view_, next.x.tensor, sum) &&
                                same_shape(view_.at(next.x.tensor), view_.at(sum))))
                why = {u.node, reason::reshaped};
            if (!why.fits()) continue;
            m.next_norm = next.norm;
            m.next_mul = next.mul;
            m.next_weight = next.weight;
            m.next_eps = next.eps;
            m.activation = next.activation;
            m.sum_needed = needed(sum);
            return {};
        }
        return why;
    }
};

}  // namespace catena
