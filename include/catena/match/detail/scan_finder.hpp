// Finds the scan of a state space that one launch can take: an SSM_SCAN, as Mamba-2 has it, with
// the nodes that make its dt, keep the next states, add a share of x and gate the sum.
//
// `Rewrite A to B` above a rule says which nodes A the rule takes over, and which operands of a
// launch B replace them. Names in capitals are ggml's ops, and y is the value so far.
#pragma once

#include "catena/match/detail/gated.hpp"
#include "catena/match/detail/match.hpp"
#include "catena/match/detail/state.hpp"

#include <cstdint>
#include <initializer_list>

namespace CATENA_NAMESPACE {

/// The scan of a launch, or the reason why no launch takes it.
struct found_scan {
    obstacle why;
    state_scan by;
};

class scan_finder {
  public:
    explicit scan_finder(const graph_index& g) : g_(g), view_(g.view) {}

    /// `open(position)` says that no step covers a node.
    template <class Open>
    found_scan of(std::int32_t node, const Open& open) const {
        found_scan out;
        out.by.scan = node;
        out.why = sizes(node, out.by);
        if (!out.why.found() && !kept_behind(g_, node, 4 * values(out.by),
                                             out.by.state_size() * out.by.sequences, out.by.keep))
            out.why = {node, reason::scan_state};
        if (out.why.found()) return out;
        make_dt(out.by);
        if (!all_open(open, {out.by.copy_dt, out.by.bias})) out.by = with_made_dt(out.by);
        add_share(out.by);
        gate_sum(out.by);
        if (!all_open(open, {out.by.copy_z, out.by.gate})) out.by = without_gate(out.by);
        if (!all_open(open, {out.by.skip, out.by.add})) out.by = without_share(out.by);
        return out;
    }

    /// The same scan, whose dt other launches have made.
    state_scan with_made_dt(state_scan s) const {
        s.dt = view_.node(s.scan).src[2], s.dt_bias = no_tensor;
        s.dt_nb = token_stride(s, s.dt, s.heads);
        s.copy_dt = s.bias = -1;
        return s;
    }
    /// The same scan, whose sum others gate.
    static state_scan without_gate(state_scan s) {
        s.z = no_tensor, s.z_nb = 0;
        s.copy_z = s.gate = -1;
        return s;
    }
    /// The same scan, to which others add a share of x.
    static state_scan without_share(state_scan s) {
        s = without_gate(s);
        s.d = no_tensor;
        s.skip = s.add = -1;
        return s;
    }

  private:
    /// The most tokens of a sequence that a warp takes one after the other.
    static constexpr std::int64_t most_tokens = 8;
    static constexpr std::int64_t most_values = 1 << 20, most_states = 1 << 20;

    const graph_index& g_;
    const graph_view& view_;

    bool floats(std::int32_t t) const { return plain_rows(view_.at(t)) == reason::none; }
    bool whole(std::int32_t t) const { return floats(t) && contiguous(view_.at(t)); }
    /// Is a tensor a weight that has a number for each head?
    bool number_of_heads(const state_scan& s, std::int32_t t) const {
        return g_.constant(t) && whole(t) && elements(view_.at(t)) == s.heads;
    }
    template <class Open>
    static bool all_open(const Open& open, std::initializer_list<std::int32_t> nodes) {
        for (const std::int32_t n : nodes)
            if (n >= 0 && !open(n)) return false;
        return true;
    }

    /// The bytes from one token to the next, of all sequences; -1: the tensor has not `width`
    /// elements without gaps for each of them, or they are not equally far apart.
    std::int64_t token_stride(const state_scan& s, std::int32_t t, std::int64_t width) const {
        const tensor& o = view_.at(t);
        std::int64_t run = 1;
        int d = 0;
        for (; d < 4 && run < width; run *= o.ne[d++])
            if (o.ne[d] != 1 && o.nb[d] != 4 * run) return -1;
        return floats(t) && run == width ? distance_of_rows(o, d, s.all_tokens(), 4 * width) : -1;
    }

    /// Do the op's operands fit, and does it leave one state of each sequence?
    obstacle sizes(std::int32_t node, state_scan& s) const {
        if (const obstacle f = node_fits(g_, node, 7); f.found()) return f;
        const tensor& t = view_.node(node);
        s.state = t.src[0], s.x = t.src[1], s.dt = t.src[2], s.a = t.src[3];
        s.b = t.src[4], s.c = t.src[5], s.state_ids = t.src[6];
        const tensor &x = view_.at(s.x), &states = view_.at(s.state);
        s.size = states.ne[0], s.states = states.ne[3];
        s.k = x.ne[0], s.heads = x.ne[1], s.tokens = x.ne[2], s.sequences = x.ne[3];
        s.groups = view_.at(s.b).ne[1];
        if (s.tokens > most_tokens) return {node, reason::scan_tokens, s.tokens, most_tokens};
        s.x_nb = token_stride(s, s.x, s.k * s.heads), s.dt_nb = token_stride(s, s.dt, s.heads);
        s.b_nb = token_stride(s, s.b, s.size * s.groups);
        s.c_nb = token_stride(s, s.c, s.size * s.groups);
        const bool small = s.k * s.heads <= most_values && s.states <= most_states && s.groups > 0;
        const bool stored = whole(s.state) && states.ne[1] == s.k && states.ne[2] == s.heads &&
                            numbers_states(view_.at(s.state_ids), s.sequences);
        const bool fits =
            small && stored && t.params[0] == 1 && contiguous(t) && s.heads % s.groups == 0 &&
            elements(t) == values(s) + s.state_size() * s.sequences && s.x_nb >= 0 &&
            s.dt_nb >= 0 && s.b_nb >= 0 && s.c_nb >= 0 && view_.at(s.b).ne[0] == s.size &&
            view_.at(s.c).ne[0] == s.size && view_.at(s.a).ne[0] == 1 && number_of_heads(s, s.a);
        return fits ? obstacle{} : obstacle{node, reason::scan_shape};
    }
    static std::int64_t values(const state_scan& s) { return s.k * s.heads * s.all_tokens(); }

    /// Rewrite ADD(CONT(dt), bias) to dt and its bias, where the CONT may be missing.
    void make_dt(state_scan& s) const {
        const std::int32_t add = made_for(g_, s.dt, op::add, 2, s.scan);
        if (add < 0 || view_.node(add).ne[0] != s.heads) return;
        const tensor& t = view_.node(add);
        if (!number_of_heads(s, t.src[1]) || view_.at(t.src[1]).ne[0] != s.heads) return;
        const std::int32_t copy = made_for(g_, t.src[0], op::cont, 1, add);
        const std::int32_t from = copy >= 0 ? view_.node(copy).src[0] : t.src[0];
        const std::int64_t stride = token_stride(s, from, s.heads);
        if (stride < 0) return;
        s.copy_dt = copy, s.bias = add;
        s.dt = from, s.dt_nb = stride, s.dt_bias = t.src[1];
    }

    /// Rewrite ADD(y, MUL(x, d)) to a share of x.
    void add_share(state_scan& s) const {
        const std::int32_t result = view_.nodes[s.scan];
        std::int32_t add = -1;
        for (const use& u : g_.readers(result)) {
            if (u.node == s.keep) continue;
            if (add >= 0 || g_.kind(u.node) != op::add || u.slot != 0) return;
            add = u.node;
        }
        if (add < 0 || node_fits(g_, add, 2).found()) return;
        const tensor& t = view_.node(add);
        const std::int32_t mul = made_for(g_, t.src[1], op::mul, 2, add);
        if (mul < 0 || view_.node(mul).src[0] != s.x) return;
        const std::int32_t d = view_.node(mul).src[1];
        const bool of_heads = same_shape(view_.node(mul), view_.at(s.x)) && number_of_heads(s, d) &&
                              view_.at(d).ne[1] == s.heads;
        if (!of_heads || !all_values(s, t.src[0]) || !all_values(s, view_.nodes[add])) return;
        s.skip = mul, s.add = add, s.d = d;
    }
    /// Has a tensor the values of all tokens, one behind the other?
    bool all_values(const state_scan& s, std::int32_t t) const {
        return whole(t) && elements(view_.at(t)) == values(s);
    }

    /// Rewrite GLU(CONT(z), y) to a gate z, where the CONT may be missing.
    void gate_sum(state_scan& s) const {
        if (s.add < 0) return;
        const use next = g_.only_reader(view_.nodes[s.add]);
        if (next.node < 0 || g_.kind(next.node) != op::glu || next.slot != 1) return;
        const gated v = gated_at(g_, next.node);
        const tensor& t = view_.node(next.node);
        if (v.why.found() || v.function != gate_function::silu || !all_values(s, t.src[1]) ||
            !all_values(s, view_.nodes[next.node]))
            return;
        const std::int32_t gate = t.src[0];
        const std::int32_t copy = made_for(g_, gate, op::cont, 1, next.node);
        const std::int32_t z = copy >= 0 ? view_.node(copy).src[0] : gate;
        const std::int64_t stride = token_stride(s, z, s.k * s.heads);
        if (stride < 0) return;
        s.copy_z = copy, s.gate = next.node;
        s.z = z, s.z_nb = stride;
    }
};

}  // namespace CATENA_NAMESPACE
