// Matching: does a chain fit at a node? The answer is a place with its operands and every reader of
// its value, or the reason why not. Use edges are followed, not neighbours.
#pragma once

#include "catena/match/engine_fuses.hpp"
#include "catena/match/experts.hpp"
#include "catena/match/gated.hpp"
#include "catena/match/reader.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <vector>

namespace catena {

inline constexpr std::int32_t no_stream = -1;

struct match {
    finding why;                                 ///< why.why is none when the chain fits
    value_kind kind = value_kind::plain;
    std::int32_t add = -1, norm = -1, mul = -1;  ///< node positions; -1: not part of the chain
    std::int32_t x_scale = -1, norm_scale = -1;  ///< the SCALE of x, of the norm behind its weight
    std::int32_t sum_mul = -1;                   ///< the MUL by a number where `add` joins the norm
    std::int32_t bias_add = -1;                  ///< the ADD of the norm's bias
    std::int32_t next_norm = -1, next_mul = -1;  ///< of the sum, where `add` stands behind `mul`
    std::int32_t glu = -1, unary = -1;           ///< the same of a gated value: GLU or MUL, UNARY
    std::int32_t copy = -1;                      ///< the CONT of its gate
    combination experts;                         ///< what x and the residual join
    row_operand x, residual, gate;               ///< what the chain reads
    std::int32_t weight = no_tensor, bias = no_tensor, next_weight = no_tensor;
    std::int32_t sum_factor = no_tensor;
    float eps = 0, next_eps = 0, alpha = 0, limit = 0;
    float x_times = 1, norm_times = 1;
    gate_function function = gate_function::none;
    std::int32_t activation = no_tensor;  ///< the tensor that holds the chain's value
    std::int64_t quant_k = 0;             ///< elements of a row as the served quantized matmuls
                                          ///< read it; 0: there are none
    bool whole_blocks = true;  ///< rows of any served length put a block at the same place
    std::vector<reader> readers;  ///< of the activation through all its names, in node order
    std::int32_t stream = no_stream;  ///< of the engine, on which all of it runs
    bool sum_needed = false;      ///< somebody else reads, or may read, the sum that a norm reads
    bool f32_needed = false;      ///< the value is read, or may be, as it is, by who cannot be
                                  ///< served; the planner adds who multiplies numbers with it

    /// Is the residual added to the weighted norm, not to x?
    bool joins() const { return add > mul && mul >= 0; }

    /// The node whose result is the sum with the residual.
    std::int32_t sum() const { return sum_mul >= 0 ? sum_mul : add; }

    /// Is it what a CONT copies, and nothing else?
    bool copies() const { return copy >= 0 && copy == glu; }

    /// The node that stands for the place in reports.
    std::int32_t node() const { return norm >= 0 ? norm : glu; }

    /// Leaves the SCALE of x to somebody else.
    void leave_scale(const graph_view& view) {
        const std::int32_t made = view.nodes[x_scale];
        x = {made, 0, strides_of(view.at(made))};
        x_scale = -1, x_times = 1;
    }

    bool found() const { return why.why == reason::none; }
    void quantize_rows(std::int64_t length) {
        quant_k = length;
        whole_blocks = stored_elements(format::q8_1, length) == length;
    }
    /// In which the value is quantized for its readers.
    format_set layouts() const {
        format_set out;
        for (const reader& r : readers)
            if (r.quantized()) out = out | r.layout;
        return out;
    }
    int servable() const {
        int n = 0;
        for (const reader& r : readers) n += r.servable() ? 1 : 0;
        return n;
    }
};

/// Whose rows a step makes one by one: the value's, or those that a CONT gathers.
inline const tensor& rows_of(const graph_view& view, const match& m) {
    const tensor& value = view.at(m.activation);
    if (m.copy < 0) return value;
    const tensor& from = view.at(m.gate.tensor);
    return contiguous(from) ? value : from;
}

class matcher {
  public:
    matcher(const graph_index& index, const pattern& chain)
        : index_(index), view_(index.view), chain_(chain) {}

    /// A chain with a norm, at the RMS_NORM or NORM that is node `position`.
    match at_norm(std::int32_t position) const {
        slot_sums sums(index_);
        match m = place_at_norm(position, sums);
        if (m.found()) read(m);
        return m;
    }

    /// The same without its readers: `read` lists them.
    match place_at_norm(std::int32_t position, slot_sums& sums) const {
        match m;
        m.kind = chain_.value;
        m.norm = position;
        m.stream = view_.node(position).stream;
        m.why = norm_fits(m);
        if (m.why.why != reason::none) return m;
        take_scale(m);
        if (chain_.bias) m.why = bias_fits(m);
        if (m.found() && chain_.gate) m.why = gate_fits(m);
        if (m.found() && chain_.residual)
            m.why = chain_.experts ? experts_fit(m, sums) : residual_fits(m);
        if (m.found() && chain_.join) m.why = join_fits(m);
        if (m.found() && chain_.again) m.why = again_fits(m);
        return m;
    }

    /// A chain of a gated value, at the GLU, MUL, UNARY, SQR or CONT that is node `position`.
    match at_gated(std::int32_t position) const {
        match m = place_at_gated(position);
        if (m.found()) read(m);
        return m;
    }

    /// The same without its readers.
    match place_at_gated(std::int32_t position) const {
        match m;
        m.kind = value_kind::glu;
        m.glu = position;
        m.stream = view_.node(position).stream;
        m.activation = view_.nodes[position];
        const gated v = gathered_at(index_, position);
        m.why = v.why;
        if (m.found() && v.product() && !multiplied(m.activation)) m.why = {position, reason::no_gate};
        if (m.found()) m.why = rows_fit(index_, position, m.activation);
        if (m.found() && elements(view_.at(m.activation)) > max_values)
            m.why = {position, reason::too_large, elements(view_.at(m.activation)), max_values};
        if (!m.found()) return m;
        m.unary = v.unary;
        m.copy = v.copy;
        m.x = v.x;
        m.gate = v.gate;
        m.function = v.function;
        m.alpha = v.alpha;
        m.limit = v.limit;
        return m;
    }

    /// A chain without ops before the value, at a tensor that somebody else writes.
    match at_value(std::int32_t value) const {
        match m;
        const tensor& t = view_.at(value);
        m.x = {value, 0, strides_of(t)};
        m.activation = value;
        m.why = {index_.position(value), plain_rows(t), t.nb[0], 4};
        if (m.found() && index_.written_in_place(index_.root(value)))
            m.why.why = reason::written_in_place;
        if (m.found() && elements(t) > max_values)
            m.why = {m.why.node, reason::too_large, elements(t), max_values};
        if (!m.found()) return m;
        read(m);
        const auto elsewhere = [&](const reader& r) {
            return !names_whole(view_, view_.node(r.node).src[r.slot], value);
        };
        m.readers.erase(std::remove_if(m.readers.begin(), m.readers.end(), elsewhere),
                        m.readers.end());
        return m;
    }

    /// Lists and judges all that read the value of a match.
    void read(match& m) const {
        const std::int32_t value = m.activation;
        const std::int32_t root = index_.root(value);
        m.f32_needed = index_.read_outside(root) || index_.output(root);
        m.readers.reserve(static_cast<std::size_t>(index_.reader_count(root)));
        for (const use* u = index_.readers_begin(root); u != index_.readers_end(root); ++u) {
            reader r = read_of(view_, chain_, value, *u);
            if (r.servable() && !index_.constant(view_.node(u->node).src[0]))
                r.left.why = reason::weight_not_leaf;
            if (r.servable() && r.numbers())
                judge_stream(m, r);
            else if (r.servable())
                judge_row(m, r, view_.node(u->node).src[u->slot]);
            m.f32_needed = m.f32_needed || !r.servable();
            m.readers.push_back(r);
        }
    }

  private:
    const graph_index& index_;
    const graph_view& view_;
    const pattern& chain_;

    const tensor& src(std::int32_t position, int slot) const {
        return view_.at(view_.node(position).src[slot]);
    }

    finding norm_fits(match& m) const {
        if (finding f = node_fits(index_, m.norm, 1); f.why != reason::none) return f;
        const tensor& n = view_.node(m.norm);
        const tensor& x = view_.at(n.src[0]);
        m.x = {n.src[0], 0, strides_of(x)};
        if (!same_shape(n, x)) return {m.norm, reason::reshaped};
        if (finding f = rows_fit(index_, m.norm, m.x.tensor); f.why != reason::none) return f;
        if (elements(n) > max_values) return {m.norm, reason::too_large, elements(n), max_values};
        std::memcpy(&m.eps, &n.params[0], sizeof(m.eps));
        m.activation = view_.nodes[m.norm];
        return chain_.scale ? scale_fits(m) : rows_fit(index_, m.norm, m.activation);
    }

    /// The norm's result is not written: its MUL must be its only reader.
    finding scale_fits(match& m) const {
        const std::int32_t n = view_.nodes[m.norm];
        const use* only = index_.readers_begin(n);
        bool has_mul = false;
        for (const use* u = only; u != index_.readers_end(n); ++u)
            has_mul = has_mul || view_.node(u->node).kind == op::mul;
        if (!has_mul) return {m.norm, reason::unscaled};
        if (index_.reader_count(n) != 1)
            return {m.norm, reason::read_elsewhere, index_.reader_count(n)};
        if (index_.output(n)) return {m.norm, reason::is_output};
        if (index_.read_outside(n)) return {m.norm, reason::read_outside};

        m.mul = only->node;
        const tensor& mul = view_.node(m.mul);
        if (finding f = node_fits(index_, m.mul, 2); f.why != reason::none) return f;
        if (only->slot > 1) return {m.mul, reason::missing_source};
        const tensor& normed = src(m.mul, only->slot);
        if (!names_whole(view_, mul.src[only->slot], n) || !same_shape(normed, view_.at(n)) ||
            !same_shape(mul, view_.at(n)))
            return {m.mul, reason::reshaped};
        m.weight = mul.src[1 - only->slot];
        m.activation = view_.nodes[m.mul];
        if (finding f = weight_fits(m); f.why != reason::none) return f;
        return rows_fit(index_, m.mul, m.activation);
    }

    /// Takes over the SCALE that alone reads the norm.
    void take_scale(match& m) const {
        const std::int32_t scale = index_.only_reader(m.activation).node;
        if (scale < 0 || engine_fuses(index_, scale)) return;
        const number_of n = scale_at(index_, scale);
        const std::int32_t result = view_.nodes[scale];
        if (!n.found || view_.at(result).src[0] != m.activation ||
            rows_fit(index_, scale, result).why != reason::none)
            return;
        m.norm_scale = scale, m.norm_times = n.by;
        m.activation = result;
    }

    finding weight_fits(const match& m) const { return vector_fits(m, m.mul, m.weight); }

    /// A leaf of one row, which node `position` reads.
    finding vector_fits(const match& m, std::int32_t position, std::int32_t leaf) const {
        const tensor& w = view_.at(leaf);
        const std::int64_t k = view_.node(m.norm).ne[0];
        if (!index_.constant(leaf)) return {position, reason::weight_not_leaf};
        if (w.type != format::f32) return {position, reason::weight_not_f32};
        if (w.ne[0] != k || elements(w) != k)
            return {position, reason::weight_shape, elements(w), k};
        return rows_fit(index_, position, leaf);
    }

    /// The result so far is not written: an ADD of a bias must be its only reader.
    finding bias_fits(match& m) const {
        const use u = index_.only_reader(m.activation);
        if (u.node < 0 || u.slot > 1 || view_.node(u.node).kind != op::add)
            return {m.norm, reason::unbiased};
        if (finding f = node_fits(index_, u.node, 2); f.why != reason::none) return f;
        const tensor& sum = view_.node(u.node);
        if (!names_whole(view_, sum.src[u.slot], m.activation) ||
            !same_shape(src(u.node, u.slot), view_.node(m.norm)) ||
            !same_shape(sum, view_.node(m.norm)))
            return {u.node, reason::reshaped};
        m.bias_add = u.node;
        m.bias = sum.src[1 - u.slot];
        m.activation = view_.nodes[u.node];
        if (finding f = vector_fits(m, u.node, m.bias); f.why != reason::none) return f;
        return rows_fit(index_, u.node, m.activation);
    }

    /// The same for a MUL by a function of a gate.
    finding gate_fits(match& m) const {
        const use u = index_.only_reader(m.activation);
        if (u.node < 0 || view_.node(u.node).kind != op::mul) return {m.norm, reason::ungated};
        gated v = gated_at(index_, u.node);
        if (v.product() && v.gate.tensor == m.activation &&
            same_shape(view_.at(m.activation), view_.node(u.node)))
            std::swap(v.x, v.gate);
        if (v.why.why == reason::no_gate) return {m.norm, reason::ungated};
        if (v.why.why != reason::none) return v.why;
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
        if (finding f = node_fits(index_, m.add, 2); f.why != reason::none) return f;
        for (const int s : {0, 1}) {
            if (!same_shape(src(m.add, s), view_.at(sum))) return {m.add, reason::no_residual};
            if (finding f = rows_fit(index_, m.add, view_.at(sum).src[s]); f.why != reason::none) return f;
        }
        const auto rows = [this](std::int32_t t) {
            return row_operand{t, 0, strides_of(view_.at(t))};
        };
        m.x = rows(view_.at(sum).src[0]);
        m.residual = rows(view_.at(sum).src[1]);
        for (const int s : {1, 0}) {
            const scaled_value x = unscaled(index_, view_.at(sum).src[s], m.add);
            if (x.scale < 0) continue;
            m.x = rows(x.value);
            m.residual = rows(view_.at(sum).src[1 - s]);
            m.x_scale = x.scale, m.x_times = x.by;
        }
        m.sum_needed = needed(sum);
        return {};
    }

    /// x is what experts made, with all that joins it: the chain takes the whole sum over.
    finding experts_fit(match& m, slot_sums& sums) const {
        const std::int32_t sum = m.x.tensor;
        m.experts = combination_at(sums, sum);
        if (!m.experts.found()) return {m.norm, reason::no_experts};
        m.add = index_.position(sum);
        const auto rows = [this](std::int32_t t) {
            return t == no_tensor ? row_operand{} : row_operand{t, 0, strides_of(view_.at(t))};
        };
        m.x = rows(m.experts.shared);
        m.residual = rows(m.experts.residual);
        m.x_times = m.experts.scale;
        m.sum_needed = needed(sum);
        return {};
    }

    /// Does anybody read a sum but the norm of the chain?
    bool needed(std::int32_t sum) const {
        return index_.reader_count(sum) != 1 || index_.read_outside(sum) || index_.output(sum);
    }

    /// The result so far is not written: an ADD of a tensor of its shape must be its only reader.
    finding join_fits(match& m) const {
        const use u = index_.only_reader(m.activation);
        if (u.node < 0 || u.slot > 1 || view_.node(u.node).kind != op::add)
            return {m.norm, reason::unjoined};
        if (finding f = node_fits(index_, u.node, 2); f.why != reason::none) return f;
        const tensor& sum = view_.node(u.node);
        const std::int32_t residual = sum.src[1 - u.slot];
        if (!same_shape(view_.at(residual), sum)) return {m.norm, reason::unjoined};
        if (!names_whole(view_, sum.src[u.slot], m.activation) ||
            !same_shape(src(u.node, u.slot), view_.node(m.norm)) ||
            !same_shape(sum, view_.node(m.norm)))
            return {u.node, reason::reshaped};
        m.add = u.node;
        m.residual = {residual, 0, strides_of(view_.at(residual))};
        m.activation = view_.nodes[u.node];
        if (finding f = rows_fit(index_, u.node, residual); f.why != reason::none) return f;
        take_factor(m);
        return rows_fit(index_, m.sum(), m.activation);
    }

    /// Takes over the MUL by a number in memory that alone reads the sum.
    void take_factor(match& m) const {
        const use u = index_.only_reader(m.activation);
        if (u.node < 0 || u.slot > 1 || node_fits(index_, u.node, 2).why != reason::none) return;
        const tensor& product = view_.node(u.node);
        if (product.kind != op::mul || product.src[u.slot] != m.activation) return;
        const std::int32_t factor = product.src[1 - u.slot];
        if (!index_.constant(factor) || elements(view_.at(factor)) != 1 ||
            rows_fit(index_, u.node, factor).why != reason::none ||
            rows_fit(index_, u.node, view_.nodes[u.node]).why != reason::none)
            return;
        m.sum_mul = u.node;
        m.sum_factor = factor;
        m.activation = view_.nodes[u.node];
    }

    /// The sum goes on, and so does its norm: by the first RMS_NORM of it that fits.
    finding again_fits(match& m) const {
        const std::int32_t sum = m.activation;
        finding why{m.add, reason::not_normed_again};
        for (const use* u = index_.readers_begin(sum); u != index_.readers_end(sum); ++u) {
            if (view_.node(u->node).kind != op::rms_norm) continue;
            match next;
            next.norm = u->node;
            why = norm_fits(next);
            if (why.why == reason::none && !(names_whole(view_, next.x.tensor, sum) &&
                                             same_shape(view_.at(next.x.tensor), view_.at(sum))))
                why = {u->node, reason::reshaped};
            if (why.why != reason::none) continue;
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

    /// Does a quantized matrix multiply the value? Nothing is gained by any other product.
    bool multiplied(std::int32_t value) const {
        const std::int32_t root = index_.root(value);
        return std::any_of(index_.readers_begin(root), index_.readers_end(root), [this](const use& u) {
            const tensor& t = view_.node(u.node);
            return is_matmul(t.kind) && u.slot == 1 && t.src[0] != no_tensor &&
                   info(view_.at(t.src[0]).type).role == format_role::weight;
        });
    }

    /// Readers of different row lengths share one quantized copy where padding moves no block. The
    /// first that is served says how long its rows are.
    void judge_row(match& m, reader& r, std::int32_t name) const {
        const std::int64_t k = rows_of(view_, m).ne[0];
        const std::int64_t length = view_.at(name).ne[0];
        const bool whole = stored_elements(format::q8_1, length) == length;
        const bool first = m.quant_k == 0;
        const bool together = first || length == m.quant_k || (whole && m.whole_blocks);
        if (!together || !rows_of_both(length, k)) {
            r.left = {r.node, reason::row_length, length, first ? k : m.quant_k};
        } else if (judge_stream(m, r) && first) {
            m.quantize_rows(length);
        }
    }

    /// All of a match is on one stream: that of the first who is served, if it makes nothing itself.
    bool judge_stream(match& m, reader& r) const {
        const std::int32_t stream = view_.node(r.node).stream;
        if (m.stream == no_stream) m.stream = stream;
        if (stream != m.stream) r.left = {r.node, reason::stream, stream, m.stream};
        return r.servable();
    }
};

}  // namespace catena
