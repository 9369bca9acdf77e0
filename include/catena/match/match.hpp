// Matching: does a chain fit at a node? The answer is a place with its operands and every reader of
// its value, or the reason why not. Use edges are followed, not neighbours.
#pragma once

#include "catena/match/reader.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

namespace catena {

/// Kernels number rows and blocks of 32 values in 32 bits.
inline constexpr std::int64_t max_values = std::numeric_limits<std::int32_t>::max();

struct match {
    finding why;                                 ///< why.why is none when the chain fits
    std::int32_t add = -1, norm = -1, mul = -1;  ///< node positions; -1: not part of the chain
    std::int32_t x = no_tensor;                  ///< what the chain reads
    std::int32_t residual = no_tensor;
    std::int32_t weight = no_tensor;
    float eps = 0;
    std::int32_t activation = no_tensor;  ///< the tensor that holds the chain's value
    std::int64_t quant_k = 0;             ///< elements of a row as the served matmuls read it
    std::vector<reader> readers;  ///< of the activation through all its names, in node order
    bool sum_needed = false;      ///< somebody else reads, or may read, x + residual
    bool f32_needed = false;      ///< somebody who cannot be served reads, or may read, the value

    bool found() const { return why.why == reason::none; }
    int servable() const {
        int n = 0;
        for (const reader& r : readers) n += r.servable() ? 1 : 0;
        return n;
    }
};

class matcher {
  public:
    matcher(const graph_index& index, const pattern& chain)
        : index_(index), view_(index.view), chain_(chain) {}

    /// A chain with a norm, at the RMS_NORM that is node `position`.
    match at_norm(std::int32_t position) const {
        match m;
        m.norm = position;
        m.why = norm_fits(m);
        if (m.why.why != reason::none) return m;
        if (chain_.residual) m.why = residual_fits(m);
        if (m.found()) read_activation(m);
        return m;
    }

    /// A chain without ops before the value, at a tensor of the engine's.
    match at_value(std::int32_t value) const {
        match m;
        m.x = m.activation = value;
        const tensor& t = view_.at(value);
        m.why = {index_.position(value), plain_rows(t), t.nb[0], 4};
        if (m.found() && index_.written_in_place(index_.root(value)))
            m.why.why = reason::written_in_place;
        if (m.found() && elements(t) > max_values)
            m.why = {m.why.node, reason::too_large, elements(t), max_values};
        if (!m.found()) return m;
        read_activation(m);
        const auto elsewhere = [&](const reader& r) {
            return !names_whole(view_, view_.node(r.node).src[r.slot], value);
        };
        m.readers.erase(std::remove_if(m.readers.begin(), m.readers.end(), elsewhere),
                        m.readers.end());
        m.f32_needed = false;  // the engine wrote it
        return m;
    }

  private:
    const graph_index& index_;
    const graph_view& view_;
    const pattern& chain_;

    const tensor& src(std::int32_t position, int slot) const {
        return view_.at(view_.node(position).src[slot]);
    }

    /// What every node of a chain must be, whatever its op.
    finding node_fits(std::int32_t position, int sources) const {
        const tensor& t = view_.node(position);
        for (int s = 0; s < sources; ++s)
            if (t.src[s] == no_tensor) return {position, reason::missing_source};
        for (int s = sources; s < max_src; ++s)
            if (t.src[s] != no_tensor) return {position, reason::extra_source};
        if ((t.flags & flag_compute) == 0) return {position, reason::not_computed};
        if (elements(t) == 0) return {position, reason::no_elements};
        if (t.type != format::f32) return {position, reason::not_f32};
        if (t.view_src != no_tensor || index_.written_in_place(view_.nodes[position]))
            return {position, reason::written_in_place};
        return {};
    }

    static bool same_shape(const tensor& a, const tensor& b) {
        return a.ne[0] == b.ne[0] && a.ne[1] == b.ne[1] && a.ne[2] == b.ne[2] && a.ne[3] == b.ne[3];
    }

    finding rows_fit(std::int32_t position, std::int32_t tensor_index) const {
        const tensor& t = view_.at(tensor_index);
        const reason r = plain_rows(t);
        if (r != reason::none) return {position, r, t.nb[0], 4};
        return {};
    }

    finding norm_fits(match& m) const {
        if (finding f = node_fits(m.norm, 1); f.why != reason::none) return f;
        const tensor& n = view_.node(m.norm);
        m.x = n.src[0];
        if (!same_shape(n, view_.at(m.x))) return {m.norm, reason::reshaped};
        if (finding f = rows_fit(m.norm, m.x); f.why != reason::none) return f;
        if (elements(n) > max_values) return {m.norm, reason::too_large, elements(n), max_values};
        std::memcpy(&m.eps, &n.params[0], sizeof(m.eps));
        m.activation = view_.nodes[m.norm];
        return chain_.scale ? scale_fits(m) : rows_fit(m.norm, m.activation);
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
        if (finding f = node_fits(m.mul, 2); f.why != reason::none) return f;
        if (only->slot > 1) return {m.mul, reason::missing_source};
        const tensor& normed = src(m.mul, only->slot);
        if (!names_whole(view_, mul.src[only->slot], n) || !same_shape(normed, view_.at(n)) ||
            !same_shape(mul, view_.at(n)))
            return {m.mul, reason::reshaped};
        m.weight = mul.src[1 - only->slot];
        m.activation = view_.nodes[m.mul];
        if (finding f = weight_fits(m); f.why != reason::none) return f;
        return rows_fit(m.mul, m.activation);
    }

    finding weight_fits(const match& m) const {
        const tensor& w = view_.at(m.weight);
        const std::int64_t k = view_.node(m.norm).ne[0];
        if (!index_.constant(m.weight)) return {m.mul, reason::weight_not_leaf};
        if (w.type != format::f32) return {m.mul, reason::weight_not_f32};
        if (w.ne[0] != k || elements(w) != k) return {m.mul, reason::weight_shape, elements(w), k};
        if (w.nb[0] != 4) return {m.mul, reason::not_unit_stride, w.nb[0], 4};
        return {};
    }

    /// x is the result of an ADD of two tensors of its shape: the chain takes the ADD over.
    finding residual_fits(match& m) const {
        const std::int32_t sum = m.x;
        m.add = index_.position(sum);
        if (m.add < 0 || view_.at(sum).kind != op::add) return {m.norm, reason::no_residual};
        if (finding f = node_fits(m.add, 2); f.why != reason::none) return f;
        for (const int s : {0, 1}) {
            if (!same_shape(src(m.add, s), view_.at(sum))) return {m.add, reason::no_residual};
            if (finding f = rows_fit(m.add, view_.at(sum).src[s]); f.why != reason::none) return f;
        }
        m.x = view_.at(sum).src[0];
        m.residual = view_.at(sum).src[1];
        m.sum_needed =
            index_.reader_count(sum) != 1 || index_.read_outside(sum) || index_.output(sum);
        return {};
    }

    void read_activation(match& m) const {
        const std::int32_t value = m.activation;
        const std::int32_t root = index_.root(value);
        m.f32_needed = index_.read_outside(root) || index_.output(root);
        m.readers.reserve(static_cast<std::size_t>(index_.reader_count(root)));
        for (const use* u = index_.readers_begin(root); u != index_.readers_end(root); ++u) {
            reader r = read_of(view_, chain_, value, *u);
            if (r.servable() && !index_.constant(view_.node(u->node).src[0]))
                r.left.why = reason::weight_not_leaf;
            const std::int64_t length = view_.at(view_.node(u->node).src[u->slot]).ne[0];
            if (r.servable()) {
                const std::int64_t k = view_.at(value).ne[0];
                if (m.quant_k == 0) m.quant_k = length;
                if (length != m.quant_k || (length % k != 0 && k % length != 0))
                    r.left = {u->node, reason::row_length, length, m.quant_k};
            }
            m.f32_needed = m.f32_needed || !r.servable();
            m.readers.push_back(r);
        }
    }
};

}  // namespace catena
