// The sum of a token's experts, as graphs spell it: the results are multiplied with their weights
// and cut into a VIEW for each slot, and ADDs join these views one after the other. Then a shared
// expert's result, a SCALE of the sum and a residual may follow.
//
// `Rewrite A to B` above a function says which nodes A it takes over and which combination B they
// are. Names in capitals are ggml's ops.
#pragma once

#include "catena/match/detail/value.hpp"
#include "catena/match/pattern.hpp"

#include <cstring>
#include <vector>

namespace CATENA_NAMESPACE {

/// ((sum over slots of results * weights) + shared * sigmoid(gate)) * scale + residual, a value of
/// shape [k, tokens]. Nobody else reads the values between these operands and the sum.
struct combination {
    std::int32_t results = no_tensor;  ///< [k, slots, tokens]; no_tensor: there is no such sum
    std::int32_t sum = no_tensor;      ///< [k, tokens], the sum of the slots without what joins it
    std::int32_t weights = no_tensor;  ///< [1, slots, tokens]; no_tensor: results have them already
    std::int32_t shared = no_tensor;   ///< [k, tokens], a shared expert's result, or no_tensor
    std::int32_t gate = no_tensor;     ///< [1, tokens], the shared expert's gate, or no_tensor
    std::int32_t residual = no_tensor;
    float scale = 1;
    std::vector<std::int32_t> nodes;  ///< positions of all ops, those of `sum` first
    std::size_t slot_nodes = 0;       ///< number of ops of `sum`
    bool summed = false;              ///< another launch makes `sum`, and `results` is that sum

    bool found() const { return results != no_tensor; }

    /// Leaves the sum of the slots to another launch.
    void leave_slots() {
        results = sum;
        weights = no_tensor;
        nodes.erase(nodes.begin(), nodes.begin() + static_cast<std::ptrdiff_t>(slot_nodes));
        slot_nodes = 0;
        summed = true;
    }

    /// The MUL by a gate, which is behind the ADD of the shared expert, and the gate's sigmoid.
    array_view<std::int32_t> gate_nodes() const {
        if (gate == no_tensor) return {};
        const std::int32_t* const first = nodes.data() + slot_nodes + 1;
        return {first, first + 2};
    }
    /// Leaves the MUL, whose result is `product`, and the sigmoid to others.
    void leave_gate(std::int32_t product) {
        const auto first = nodes.begin() + static_cast<std::ptrdiff_t>(slot_nodes) + 1;
        nodes.erase(first, first + 2);
        shared = product;
        gate = no_tensor;
    }
};

/// The rows that are added up for a token: how many, the bytes from one to the next, and the bytes
/// from token to token.
struct slot_rows {
    std::int64_t slots, nb1, nb2;
};
inline slot_rows slot_rows_of(const graph_view& view, const combination& c) {
    const tensor& t = view.at(c.results);
    return c.summed ? slot_rows{1, 0, t.nb[1]} : slot_rows{t.ne[1], t.nb[1], t.nb[2]};
}

namespace detail {

/// Is `name` a view of one slot of `all`, for every token?
inline bool names_slot(const graph_view& view, std::int32_t name, std::int32_t all,
                       std::int64_t slot) {
    const tensor& t = view.at(name);
    const tensor& whole = view.at(all);
    std::int64_t offset = 0;
    std::memcpy(&offset, t.params, sizeof offset);
    return t.kind == op::view && t.src[0] == all && offset == slot * whole.nb[1] &&
           t.type == format::f32 && t.ne[0] == whole.ne[0] && t.ne[1] == whole.ne[2] &&
           t.ne[2] == 1 && t.ne[3] == 1 && t.nb[0] == whole.nb[0] &&
           (t.ne[1] == 1 || t.nb[1] == whole.nb[2]);
}

/// The tensor that a source of an ADD is a part of.
inline std::int32_t viewed_by(const graph_view& view, const tensor& sum) {
    for (const std::int32_t s : {sum.src[1], sum.src[0]})
        if (s != no_tensor && view.at(s).kind == op::view) return view.at(s).src[0];
    return no_tensor;
}

/// The position of the ADD that makes `value` of two f32 tensors of its shape, [k, tokens], or -1.
inline std::int32_t sum_of_rows(const graph_index& g, std::int32_t value) {
    const tensor& t = g.view.at(value);
    const std::int32_t position = t.kind == op::add ? g.position(value) : -1;
    const bool fits = position >= 0 && !node_fits(g, position, 2).found() && t.ne[2] == 1 &&
                      t.ne[3] == 1 && same_shape(g.view.at(t.src[0]), t) &&
                      same_shape(g.view.at(t.src[1]), t) &&
                      plain_rows(g.view.at(t.src[0])) == reason::none &&
                      plain_rows(g.view.at(t.src[1])) == reason::none;
    return fits ? position : -1;
}

/// Rewrite SLOTS(MUL(results, weights)) to slots(results, weights). Only the views of the slots may
/// read the MUL.
inline void take_weights(const graph_index& g, combination& c) {
    const graph_view& view = g.view;
    const std::int32_t all = c.results, product = g.position(all);
    const tensor& whole = view.at(all);
    if (product < 0 || whole.kind != op::mul || node_fits(g, product, 2).found()) return;
    const bool alone = g.root(all) == all && !g.output(all) && !g.read_outside(all) &&
                       g.reader_count(all) == whole.ne[1];
    const tensor& results = view.at(whole.src[0]);
    const tensor& weights = view.at(whole.src[1]);
    if (!alone || !same_shape(results, whole) || plain_rows(results) != reason::none ||
        plain_rows(weights) != reason::none || weights.ne[0] != 1 || !same_rows(weights, whole))
        return;
    c.results = whole.src[0];
    c.weights = whole.src[1];
    c.nodes.push_back(product);
}

/// Rewrite SLOTS(results) = ADD(.., ADD(VIEW 0, VIEW 1), .., VIEW last), the views of the slots of
/// `results` in their order, to slots(results). `value` is the result of the last ADD.
inline combination slots_at(const graph_index& g, std::int32_t value) {
    const graph_view& view = g.view;
    const std::int32_t all =
        view.at(value).kind == op::add ? viewed_by(view, view.at(value)) : no_tensor;
    if (all == no_tensor) return {};
    const tensor& whole = view.at(all);
    const std::int64_t sums = whole.ne[1] - 1;  // one ADD for each slot but the first
    if (sums < 1 || sums > view.node_count || whole.ne[3] != 1 || plain_rows(whole) != reason::none)
        return {};
    combination out;
    out.nodes.reserve(static_cast<std::size_t>(sums) + 1);  // and the MUL by their weights
    std::int32_t sum = value;
    for (std::int64_t slot = sums; slot > 0; --slot) {
        const std::int32_t position = sum_of_rows(g, sum);
        if (position < 0) return {};
        if (sum != value && g.only_reader(sum).node != out.nodes.back()) return {};
        std::int32_t before = no_tensor;
        const tensor& t = view.at(sum);
        for (const int s : {0, 1})
            if (names_slot(view, t.src[s], all, slot) &&
                (slot > 1 || names_slot(view, t.src[1 - s], all, 0)))
                before = t.src[1 - s];
        if (before == no_tensor) return {};
        out.nodes.push_back(position);
        sum = before;
    }
    out.results = all;
    out.sum = value;
    take_weights(g, out);
    out.slot_nodes = out.nodes.size();
    return out;
}

/// Rewrite MUL(shared, SIGMOID(gate)), where gate is a number for each token, to shared and gate of
/// the combination. Only the ADD at `joined` may read the MUL.
inline void take_gate(const graph_index& g, combination& c, std::int32_t joined) {
    const graph_view& view = g.view;
    const tensor& t = view.at(c.shared);
    const std::int32_t product = t.kind == op::mul ? g.position(c.shared) : -1;
    if (product < 0 || node_fits(g, product, 2).found() || g.only_reader(c.shared).node != joined)
        return;
    const std::int32_t unary = g.position(t.src[1]);
    if (unary < 0 || view.node(unary).sub != sub_op::sigmoid || node_fits(g, unary, 1).found() ||
        g.only_reader(t.src[1]).node != product)
        return;
    const tensor& x = view.at(t.src[0]);
    const std::int32_t gate = view.node(unary).src[0];
    if (!same_shape(x, t) || plain_rows(x) != reason::none || view.at(gate).ne[0] != 1 ||
        !same_rows(view.at(gate), t) || !same_shape(view.at(gate), view.node(unary)) ||
        plain_rows(view.at(gate)) != reason::none)
        return;
    c.nodes.push_back(product);
    c.nodes.push_back(unary);
    c.shared = t.src[0];
    c.gate = gate;
}

}  // namespace detail

/// May `value` be such a sum? The test is quick and looks at little.
inline bool may_combine(const graph_view& view, std::int32_t value, int depth = 2) {
    if (value != no_tensor && view.at(value).kind == op::scale) value = view.at(value).src[0];
    if (value == no_tensor || view.at(value).kind != op::add) return false;
    const tensor& t = view.at(value);
    return detail::viewed_by(view, t) != no_tensor ||
           (depth > 0 &&
            (may_combine(view, t.src[0], depth - 1) || may_combine(view, t.src[1], depth - 1)));
}

/// Finds sums over slots, alone and with what joins them. The matmuls beside a sum and the norm
/// behind it ask for it one after the other, so the last answer is kept.
class slot_sums {
  public:
    explicit slot_sums(const graph_index& g) : index(g) {}

    const graph_index& index;

    /// The combination that makes `value`, with all that joins the sum over slots.
    inline const combination& whole(std::int32_t value);

    /// The combination that makes `value` by a sum over slots alone.
    const combination& at(std::int32_t value) {
        if (!may_combine(index.view, value, 0)) return none_;
        if (value != last_) found_ = detail::slots_at(index, value), last_ = value;
        return found_;
    }

  private:
    std::int32_t last_ = no_tensor, last_whole_ = no_tensor;
    combination found_, whole_;
    const combination none_;
};

namespace detail {

/// Rewrite ADD(slots, shared) to combine(slots, shared). A sum over slots alone is a combination,
/// too.
inline combination shared_at(slot_sums& sums, std::int32_t value) {
    const graph_index& g = sums.index;
    if (const combination& own = sums.at(value); own.found()) return own;
    const std::int32_t joined = sum_of_rows(g, value);
    if (joined < 0) return {};
    const tensor& t = g.view.at(value);
    for (const int s : {0, 1}) {
        if (g.only_reader(t.src[s]).node != joined) continue;
        combination out = sums.at(t.src[s]);
        if (!out.found()) continue;
        out.shared = t.src[1 - s];
        out.nodes.push_back(joined);
        take_gate(g, out, joined);
        return out;
    }
    return {};
}

/// Rewrite ADD(SCALE(sum, c), residual) to combine(sum, c, residual), where sum is one over slots,
/// with or without a shared expert's result. The SCALE may be missing. A sum over slots alone is a
/// combination, too. A value that alone joins the slots counts as the residual.
inline combination combination_at(slot_sums& sums, std::int32_t value) {
    const graph_index& g = sums.index;
    if (const combination& whole = sums.at(value); whole.found()) return whole;
    const std::int32_t sum = sum_of_rows(g, value);
    if (sum < 0) return {};
    const tensor& t = g.view.at(value);
    for (const int s : {0, 1}) {
        const scaled_value part = unscaled(g, t.src[s], sum);
        if (g.only_reader(part.value).node != (part.scale >= 0 ? part.scale : sum)) continue;
        combination out = shared_at(sums, part.value);
        if (!out.found()) continue;
        if (part.scale >= 0) out.nodes.push_back(part.scale);
        out.scale = part.by;
        out.residual = t.src[1 - s];
        out.nodes.push_back(sum);
        return out;
    }
    return {};
}

}  // namespace detail

inline const combination& slot_sums::whole(std::int32_t value) {
    if (!may_combine(index.view, value)) return none_;
    if (value != last_whole_) whole_ = detail::combination_at(*this, value), last_whole_ = value;
    return whole_;
}

/// Is `part` a result of experts, and does a norm read `sum`, to which it was added? The norm may
/// read the sum itself or, scaled or not, with a residual.
inline bool combined_before_norm(slot_sums& sums, std::int32_t part, std::int32_t sum) {
    const graph_index& g = sums.index;
    if (!sums.at(part).found()) return false;
    if (g.root(sum) != sum) return false;
    if (g.read_by(sum, op::rms_norm)) return true;
    const use next = reader_past_scale(g, sum);
    if (next.node < 0 || g.kind(next.node) != op::add) return false;
    const std::int32_t all = g.view.nodes[next.node];
    return g.root(all) == all && g.read_by(all, op::rms_norm);
}

}  // namespace CATENA_NAMESPACE
