// The nodes behind a matmul that the group's launch takes over as the epilogue of its result: a
// scale, a factor in memory, a bias, a GLU with the result of a second matmul or a function of the
// result, an engine's own op, the sum over a token's experts, a residual.
//
// `Rewrite A to B` above a rule says which nodes A the rule takes over, and which part B of the
// epilogue replaces them. Names in capitals are ggml's ops, and y is the result so far: the matmul
// with the parts that were found before.
#pragma once

#include "catena/match/detail/expert_factor.hpp"
#include "catena/match/detail/experts.hpp"
#include "catena/match/detail/followers.hpp"
#include "catena/match/detail/weight_scale.hpp"
#include "catena/match/ggml_cuda.hpp"
#include "catena/match/pattern.hpp"

#include <algorithm>
#include <cassert>
#include <cstring>

namespace CATENA_NAMESPACE {

/// A short list of positions. A copy copies only those in use, because copies are made often.
class node_list {
  public:
    /// The most nodes of one matmul: itself, a scale or a factor, REPEAT and GET_ROWS of factors of
    /// experts, a bias.
    static constexpr int max_biased = 5;
    static constexpr int max_slots = 32;  ///< most results of experts that are added up
    /// The most nodes of an output: two matmuls, a UNARY and what gates by it, an engine's own op,
    /// the weights' MUL and the ADDs of all slots, and that of a residual.
    static constexpr int max_nodes = 2 * max_biased + 3 + max_slots + 1;

    node_list() {}
    node_list(const node_list& o) { *this = o; }
    node_list& operator=(const node_list& o) {
        count_ = o.count_;
        for (int i = 0; i < count_; ++i) nodes_[i] = o.nodes_[i];
        return *this;
    }
    void push_back(std::int32_t position) {
        assert(count_ < max_nodes);
        nodes_[count_++] = position;
    }

    int size() const { return count_; }
    const std::int32_t* begin() const { return nodes_; }
    const std::int32_t* end() const { return nodes_ + count_; }
    std::int32_t back() const { return nodes_[count_ - 1]; }

  private:
    std::int32_t nodes_[max_nodes];
    int count_ = 0;
};

/// One result of a group's launch: a matmul, or two with a GLU, and what follows.
struct output {
    static constexpr int max_slots = node_list::max_slots;

    epilogue_set parts;
    std::int32_t matmul = -1;  ///< position
    std::int32_t up = -1;  ///< position of a GLU's second matmul; -1: none, or halves of one matrix
    node_list nodes;       ///< every position covered, the matmuls included
    std::int32_t result = no_tensor;  ///< tensor that the launch writes
    float scale = 1, alpha = 0, limit = 0;
    gate_function function = gate_function::none;
    own_call own;
    bool swapped = false;  ///< halves of one matrix: the gate is the second
    bool renamed = false;  ///< the result's shape is not the matmul's: neither has gaps
    std::int32_t factor = no_tensor, up_factor = no_tensor;
    bool factor_of_experts = false;  ///< each expert has a factor, and one for `up`
    std::int32_t bias = no_tensor, up_bias = no_tensor, residual = no_tensor;
    std::int32_t slot_weights = no_tensor;  ///< weights of the slots; no_tensor: each is 1
    std::int32_t latest = -1;  ///< last position of the combined nodes, without the sum's ADDs

    bool halves() const { return parts.has(epilogue_part::glu) && up < 0; }
    void take(std::int32_t position) { nodes.push_back(position); }
};

/// The output that is a matmul without an epilogue.
inline output plain_output(const graph_view& view, std::int32_t matmul) {
    output out;
    out.matmul = matmul;
    out.result = view.nodes[matmul];
    out.take(matmul);
    return out;
}

/// Why the MUL that reads the experts' output `o` by `u` is no part of it: what is wrong with the
/// factors. A MUL by the weights of the slots, whose products are added up, is no such MUL.
inline obstacle factors_behind(const graph_index& g, const output& o, use u) {
    const tensor& t = g.view.node(u.node);
    const tensor& matmul = g.view.node(o.matmul);
    if (t.kind != op::mul || u.slot > 1 || matmul.kind != op::mul_mat_id || !o.parts.empty() ||
        g.read_by(g.root(g.view.nodes[u.node]), op::add))
        return {};
    const std::int32_t factor = t.src[1 - u.slot];
    const bool apart = factor != no_tensor && elements(g.view.at(factor)) > 1 &&
                       g.view.at(factor).ne[0] == 1 && t.ne[0] > 1;
    return apart ? expert_factors_at(g, factor, matmul, u.node).why : obstacle{};
}

/// The node that follows an output but is no part of it, if the reason is its factors, or memory
/// that is not aligned; then with that tensor.
inline obstacle left_behind(const graph_index& g, const output& o) {
    const use next = g.only_reader(o.result);
    if (next.node < 0 || !follows_matmul(g, next.node)) return {};
    if (const obstacle f = factors_behind(g, o, next); f.found()) return f;
    const tensor& t = g.view.node(next.node);
    const std::int32_t result = t.kind == op::unary ? no_tensor : g.view.nodes[next.node];
    for (const std::int32_t index : {result, t.src[0], t.src[1]}) {
        if (index == no_tensor) continue;
        if (const obstacle f = plain_rows_at(g.view, index, next.node); f.why == reason::unaligned)
            return f;
    }
    return {};
}

class epilogue_matcher {
  public:
    epilogue_matcher(slot_sums& sums, epilogue_set allowed)
        : sums_(sums), g_(sums.index), view_(g_.view), allowed_(allowed) {}

    /// The matmul with its scale or factor and its bias: the parts of one matrix.
    output biased(std::int32_t matmul) const {
        output out = plain_output(view_, matmul);
        while (out.nodes.size() < node_list::max_biased) {
            const use next = g_.only_reader(out.result);
            if (next.node < 0 || !take(out, next)) break;
        }
        return out;
    }

    /// The node that gates the result of `o`: a GLU, or the MUL behind a UNARY. -1: none.
    std::int32_t gate_of(const output& o) const {
        if (!allowed_.has(epilogue_part::glu)) return -1;
        const use u = g_.only_reader(o.result);
        if (u.node < 0) return -1;
        const op kind = g_.kind(u.node);
        if (kind == op::glu || kind == op::mul) return u.node;
        if (kind != op::unary) return -1;
        const use next = g_.only_reader(view_.nodes[u.node]);
        return next.node >= 0 && g_.kind(next.node) == op::mul ? next.node : -1;
    }

    /// Rewrite GLU(y, z), MUL(UNARY(y), z) and MUL(y, z) to glu(y, z), where z is the result of a
    /// second matmul like that of y. Rewrite GLU(y) to glu(a, b), where a and b are the halves of
    /// each column of y. `node` is the GLU or the MUL, which computes `v`.
    bool gate(output& gate, const output& up, std::int32_t node, const gated& v) const {
        if (v.why.found()) return false;
        const bool halves = gate.matmul == up.matmul;
        if (v.gate.tensor != gate.result || v.x.tensor != up.result) return false;
        if (halves ? gate.parts != epilogue_set{} : up.parts.has(epilogue_part::scale))
            return false;
        if (!halves && ((gate.factor == no_tensor) != (up.factor == no_tensor) ||
                        gate.factor_of_experts != up.factor_of_experts))
            return false;
        if (!halves && !(alike(gate, up) && same_shape(view_.node(node), view_.at(up.result))))
            return false;
        const tensor& w = weight_of(gate.matmul);
        if (halves && (w.ne[1] % 2 != 0 || has_matrices(view_, view_.node(gate.matmul))))
            return false;
        if (halves && !scales_split(gate.matmul)) return false;
        if ((gate.bias == no_tensor) != (up.bias == no_tensor)) return false;
        if (!plain_result(node, gate.renamed)) return false;
        gate.parts = gate.parts | epilogue_part::glu;
        gate.function = v.function;
        gate.alpha = v.alpha;
        gate.limit = v.limit;
        gate.result = view_.nodes[node];
        if (halves) {
            gate.swapped = v.gate.offset != 0;
        } else {
            gate.up = up.matmul;
            gate.up_factor = up.factor;
            gate.up_bias = up.bias;
            for (const std::int32_t n : up.nodes) gate.take(n);
        }
        if (v.unary >= 0) gate.take(v.unary);
        gate.take(node);
        return true;
    }

    /// Is the result of node `position` added to a sum of experts before a norm? Then the norm's
    /// launch takes over both.
    bool before_combination(std::int32_t position) const {
        return combined(g_.only_reader(view_.nodes[position]));
    }

    /// Rewrite UNARY(y) and SQR(RELU(y)) to act(y). The UNARY must be the only reader of y.
    bool activate(output& o) const {
        if (!allowed_.has(epilogue_part::act) || o.parts.has(epilogue_part::glu)) return false;
        const use u = g_.only_reader(o.result);
        if (u.node < 0 || g_.kind(u.node) != op::unary || engine_fuses(g_, u.node)) return false;
        const use next = g_.only_reader(view_.nodes[u.node]);
        if (next.node >= 0 && g_.kind(next.node) == op::sqr && activate(o, next.node)) return true;
        return activate(o, u.node);
    }

    /// Rewrite OWN(y) to own(y), where OWN is an op that the engine has declared. It must be the
    /// only reader of y.
    bool apply_own(output& o) const {
        if (!allowed_.has(epilogue_part::own)) return false;
        const use u = g_.only_reader(o.result);
        const own_call call = u.node < 0 ? own_call{} : own_op_at(g_, u.node);
        if (call.function == gate_function::none || engine_fuses(g_, u.node) ||
            !follows_name(u.node, 0, 1, o, false))
            return false;
        o.renamed = o.renamed || view_.node(u.node).src[0] != o.result;
        o.parts = o.parts | epilogue_part::own;
        o.own = call;
        o.result = view_.nodes[u.node];
        o.take(u.node);
        return true;
    }

    /// Rewrite SLOTS(MUL(y, weights)) to combine(y, weights), where SLOTS is ADD(.., ADD(VIEW 0,
    /// VIEW 1), .., VIEW last) of a token's slots, and rewrite ADD(that, residual) to a residual of
    /// the sum. If a shared expert joins the sum first, the residual is left to the norm's launch.
    bool combine(output& o) const {
        if (!allowed_.has(epilogue_part::combine) || o.renamed) return false;
        const tensor& made = view_.at(o.result);
        const use times = g_.only_reader(o.result);
        const bool weighted = times.node >= 0 && g_.kind(times.node) == op::mul;
        const std::int32_t parts = weighted ? view_.nodes[times.node] : o.result;
        const int slots = g_.reader_count(parts);
        if (view_.node(o.matmul).kind != op::mul_mat_id || made.ne[1] > output::max_slots ||
            slots != made.ne[1] || g_.output(o.result) || g_.read_outside(o.result))
            return false;
        const std::int32_t sum =
            view_.nodes[g_.readers(parts)[static_cast<std::size_t>(slots) - 1].node];
        const combination& c = sums_.at(sum);
        if (!c.found() || c.results != o.result || (c.weights != no_tensor) != weighted ||
            (weighted && !contiguous(view_.at(c.weights))))
            return false;
        output all = o;
        all.latest = weighted ? times.node : o.nodes.back();
        all.slot_weights = c.weights;
        for (const std::int32_t n : c.nodes) all.take(n);
        all.parts = all.parts | epilogue_part::combine;
        all.result = sum;
        o = all;
        if (!add_residual(all)) return true;
        const use next = reader_past_scale(g_, all.result);
        if (next.node < 0 || !sums_.whole(view_.nodes[next.node]).found()) o = all;
        return true;
    }

    /// Rewrite ADD(y, residual) to residual(y, residual). The ADD must be the only reader of y. An
    /// ADD to a sum of experts is left to the launch of the norm that reads the whole sum.
    bool add_residual(output& o) const {
        if (!allowed_.has(epilogue_part::residual)) return false;
        const use u = g_.only_reader(o.result);
        if (u.node < 0 || g_.kind(u.node) != op::add || u.slot > 1) return false;
        const tensor& t = view_.node(u.node);
        if (t.src[1 - u.slot] == o.result || !follows_name(u.node, u.slot, 2, o, true))
            return false;
        if (combined(u)) return false;
        const bool renamed = o.renamed || t.src[u.slot] != o.result;
        const tensor& other = view_.at(t.src[1 - u.slot]);
        if (!same_shape(other, t) || !columns_fit(other, renamed)) return false;
        o.renamed = renamed;
        o.parts = o.parts | epilogue_part::residual;
        o.residual = t.src[1 - u.slot];
        o.result = view_.nodes[u.node];
        o.take(u.node);
        return true;
    }

  private:
    slot_sums& sums_;
    const graph_index& g_;
    const graph_view& view_;
    epilogue_set allowed_;

    const tensor& weight_of(std::int32_t matmul) const {
        return view_.at(view_.node(matmul).src[0]);
    }

    /// Can the scales of the matmul's weight be split between the two halves of its rows?
    bool scales_split(std::int32_t matmul) const {
        const std::int32_t scales = scales_of(view_, view_.node(matmul));
        if (scales == no_tensor) return true;
        const tensor& w = weight_of(matmul);
        const std::int64_t rows = shape_of_scales(w, view_.at(scales)).rows;
        return rows == w.ne[1] || w.ne[1] / 2 % rows == 0;
    }

    /// Is `u` the ADD of experts' results before a norm?
    bool combined(use u) const {
        return u.node >= 0 && u.slot < 2 && g_.kind(u.node) == op::add &&
               combined_before_norm(sums_, view_.node(u.node).src[1 - u.slot], view_.nodes[u.node]);
    }

    /// Can a launch read or write `t` column by column? A tensor of another shape than the matmul's
    /// result (`renamed`) must have no gaps.
    static bool columns_fit(const tensor& t, bool renamed) {
        return plain_rows(t) == reason::none && (renamed ? contiguous(t) : even_columns(t));
    }
    bool plain_result(std::int32_t node, bool renamed) const {
        return columns_fit(view_.node(node), renamed);
    }

    /// Are columns equally far apart through all dimensions?
    static bool even_columns(const tensor& t) {
        return t.ne[3] == 1 && (t.ne[2] == 1 || t.nb[2] == t.nb[1] * t.ne[1]);
    }

    /// May `node` take the result of `o` over, element by element?
    bool follows(std::int32_t node, int sources, const output& o) const {
        const tensor& t = view_.node(node);
        return !node_fits(g_, node, sources).found() && same_shape(t, view_.at(o.result)) &&
               plain_result(node, o.renamed);
    }

    /// May `node` do that if its source `slot` is another name of the whole result? The result then
    /// takes the shape of the name. `rows`: the name must have whole rows of the matmul.
    bool follows_name(std::int32_t node, int slot, int sources, const output& o, bool rows) const {
        const tensor& t = view_.node(node);
        const std::int32_t name = t.src[slot];
        const bool renamed = o.renamed || name != o.result;
        return !node_fits(g_, node, sources).found() && names_whole(view_, name, o.result) &&
               same_shape(t, view_.at(name)) && (!rows || t.ne[0] == view_.node(o.matmul).ne[0]) &&
               plain_result(node, renamed);
    }

    /// Takes over the UNARY or SQR at `node`, which computes f(y).
    bool activate(output& o, std::int32_t node) const {
        const gated v = gated_at(g_, node);
        const std::int32_t first = v.unary >= 0 ? v.unary : node;
        if (v.why.found() || !follows_name(first, 0, 1, o, false) ||
            !plain_result(node, o.renamed || view_.node(first).src[0] != o.result))
            return false;
        if (first != node) o.take(first);
        o.renamed = o.renamed || view_.node(first).src[0] != o.result;
        o.parts = o.parts | epilogue_part::act;
        o.function = v.function;
        o.alpha = v.alpha;
        o.limit = v.limit;
        o.result = view_.nodes[node];
        o.take(node);
        return true;
    }

    bool alike(const output& a, const output& b) const {
        const tensor& v = weight_of(a.matmul);
        const tensor& w = weight_of(b.matmul);
        const tensor& s = view_.node(a.matmul);
        const tensor& t = view_.node(b.matmul);
        return v.type == w.type && same_shape(v, w) && s.kind == t.kind && same_shape(s, t) &&
               same_ids(s, t) && same_scales(view_, s, t);
    }

    /// Takes over a scale, a factor or a bias. `u` is the only reader of the result so far.
    bool take(output& o, use u) const {
        switch (g_.kind(u.node)) {
            case op::scale:
                return add_scale(o, u);
            case op::mul:
                return add_factor(o, u);
            case op::add:
            case op::add_id:
                return add_bias(o, u);
            default:
                return false;
        }
    }

    /// Rewrite SCALE(y, c) to scale(y, c). Nothing may stand between SCALE and matmul.
    bool add_scale(output& o, use u) const {
        if (!allowed_.has(epilogue_part::scale) || !o.parts.empty()) return false;
        if (engine_fuses(g_, u.node)) return false;
        const tensor& t = view_.node(u.node);
        if (t.src[0] != o.result || !finite(t.params[0]) || t.params[1] != 0 ||
            !follows(u.node, 1, o))
            return false;
        std::memcpy(&o.scale, &t.params[0], sizeof(o.scale));
        o.parts = o.parts | epilogue_part::scale;
        o.result = view_.nodes[u.node];
        o.take(u.node);
        return true;
    }

    /// Rewrite MUL(y, factor), with one number in memory, and MUL(y, GET_ROWS(factors, ids)), with
    /// a number for each expert, to factor(y, factor). Nothing may stand between MUL and matmul.
    bool add_factor(output& o, use u) const {
        if (!allowed_.has(epilogue_part::factor) || !o.parts.empty() || u.slot > 1) return false;
        const tensor& t = view_.node(u.node);
        const std::int32_t factor = t.src[1 - u.slot];
        if (t.src[u.slot] != o.result || factor == no_tensor || factor == o.result ||
            !follows(u.node, 2, o))
            return false;
        if (before_combination(u.node)) return false;
        const bool number =
            elements(view_.at(factor)) == 1 && plain_rows(view_.at(factor)) == reason::none;
        const expert_factors own =
            number ? expert_factors{} : expert_factors_at(g_, factor, view_.node(o.matmul), u.node);
        if (!number && !own.found()) return false;
        o.parts = o.parts | epilogue_part::factor;
        o.factor = number ? factor : own.numbers;
        o.factor_of_experts = !number;
        take_gathering(o, own, u.node);
        o.result = view_.nodes[u.node];
        o.take(u.node);
        return true;
    }

    /// Takes over the nodes that gather factors of experts, if only node `reader` reads them.
    void take_gathering(output& o, const expert_factors& f, std::int32_t reader) const {
        const auto alone_by = [this](std::int32_t position, std::int32_t node) {
            return g_.only_reader(view_.nodes[position]).node == node;
        };
        if (!f.found() || !alone_by(f.pick, reader)) return;
        if (f.repeat >= 0 && alone_by(f.repeat, f.pick)) o.take(f.repeat);
        o.take(f.pick);
    }

    /// Rewrite ADD(y, bias), where bias is one vector over the rows, and ADD_ID(y, biases, ids),
    /// which has a vector for each expert, to bias(y, bias).
    bool add_bias(output& o, use u) const {
        if (!allowed_.has(epilogue_part::bias) || o.parts.has(epilogue_part::bias)) return false;
        const bool by_expert = g_.kind(u.node) == op::add_id;
        if (u.slot > 1) return false;
        const tensor& t = view_.node(u.node);
        const tensor& made = view_.node(o.matmul);
        if (by_expert && (u.slot != 0 || made.kind != op::mul_mat_id || t.src[2] != made.src[2]))
            return false;
        const std::int32_t bias = t.src[1 - u.slot];
        if (bias == no_tensor || !g_.constant(bias) || (by_expert && t.src[0] != o.result) ||
            !follows_name(u.node, u.slot, by_expert ? 3 : 2, o, true))
            return false;
        const tensor& b = view_.at(bias);
        const std::int64_t vectors = by_expert ? weight_of(o.matmul).ne[2] : 1;
        if (plain_rows(b) != reason::none || b.ne[0] != t.ne[0] || b.ne[1] != vectors ||
            elements(b) != t.ne[0] * vectors)
            return false;
        o.renamed = o.renamed || t.src[u.slot] != o.result;
        o.parts = o.parts | epilogue_part::bias;
        o.bias = bias;
        o.result = view_.nodes[u.node];
        o.take(u.node);
        return true;
    }
};

}  // namespace CATENA_NAMESPACE
