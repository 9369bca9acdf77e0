// What steps may read later than the engine's nodes would, so that an engine keeps it: found in the
// view, without a table, and for a prompt what a token needs, too, where shapes do not forbid it.
#pragma once

#include "catena/match/detail/attention_finder.hpp"
#include "catena/match/detail/convolution_finder.hpp"
#include "catena/match/detail/delta_rule_finder.hpp"
#include "catena/match/detail/epilogue.hpp"
#include "catena/match/detail/experts.hpp"
#include "catena/match/detail/gated.hpp"
#include "catena/match/detail/head_finder.hpp"
#include "catena/match/detail/index.hpp"
#include "catena/match/detail/reader.hpp"
#include "catena/match/detail/route_finder.hpp"
#include "catena/match/detail/scan_finder.hpp"
#include "catena/match/detail/value.hpp"
#include "catena/plan/detail/order/slots.hpp"
#include "catena/plan/optimize.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace CATENA_NAMESPACE {

namespace detail {

/// The last node of heads that one launch could take: till then it may read what each of them
/// starts from, and what says where their tokens stand, and all that it writes lies apart.
/// keep(tensor, last)
template <class Keep>
void keep_heads(const graph_index& g, const Keep& keep) {
    const head_finder find(g);
    std::vector<std::uint8_t> taken(static_cast<std::size_t>(g.view.node_count), 0);
    const auto open = [&taken](std::int32_t i) { return taken[static_cast<std::size_t>(i)] == 0; };
    for (std::int32_t i = 0; i < g.view.node_count; ++i) {
        if (!head_finder::begins_heads(g.kind(i)) || !open(i)) continue;
        const std::vector<head_chain> all = find.group(i, open);
        if (all.empty() || all.front().why.found()) continue;
        std::int32_t last = i;
        for (const head_chain& h : all)
            h.each_node([&](std::int32_t n) {
                taken[static_cast<std::size_t>(n)] = 1;
                last = std::max(last, n);
            });
        for (const head_chain& h : all) {
            for (const std::int32_t t : {h.x, h.turn.positions, h.turn.factors}) keep(t, last);
            if (h.store >= 0) keep(g.view.node(h.store).src[1], last);
            if (h.written) keep(g.view.nodes[h.made_by()], last);
        }
    }
}

/// Till the attention that one launch could take with its heads, if there were few tokens, that
/// launch may read what each of them starts from, and where their tokens stand. keep(tensor, last)
template <class Keep>
void keep_attention(const graph_index& g, const Keep& keep) {
    const attention_finder find(g, graph_index::forever);
    for (std::int32_t i = 0; i < g.view.node_count; ++i) {
        if (g.kind(i) != op::flash_attn_ext) continue;
        const found_attention found = find.of(i);
        if (found.why.found()) continue;
        for (const head_chain& h : found.values) {
            for (const std::int32_t t : {h.x, h.turn.positions, h.turn.factors}) keep(t, i);
            if (h.store >= 0) keep(g.view.node(h.store).src[1], i);
        }
    }
}

/// The last node of a convolution and of the norms of its heads: till then one launch may read the
/// tokens, and the heads that it writes lie apart. keep(tensor, last)
template <class Keep>
void keep_convolutions(const graph_index& g, const Keep& keep) {
    const convolution_finder find(g);
    for (std::int32_t i = 0; i < g.view.node_count; ++i) {
        if (g.kind(i) != op::ssm_conv) continue;
        const convolved_values found = find.of(i);
        if (found.why.found()) continue;
        std::int32_t last = i;
        const auto behind = [&last](std::int32_t n) { last = std::max(last, n); };
        found.by.each_node(behind);
        for (const head_chain& h : found.values) h.each_node(behind);
        for (const std::int32_t t : {found.by.x, found.by.state, found.by.state_ids}) keep(t, last);
        for (const head_chain& h : found.values)
            if (h.norm >= 0) keep(g.view.nodes[h.made_by()], last);
    }
}

/// The last node of the delta rule: till then one launch may read what the decay is made of, and
/// the state. keep(tensor, last)
template <class Keep>
void keep_delta_rules(const graph_index& g, const Keep& keep) {
    const delta_rule_finder find(g);
    const auto open = [](std::int32_t) { return true; };
    for (std::int32_t i = 0; i < g.view.node_count; ++i) {
        if (g.kind(i) != op::gated_delta_net) continue;
        const found_delta_rule found = find.of(i, open);
        if (found.why.found()) continue;
        std::int32_t last = i;
        found.by.each_node([&last](std::int32_t n) { last = std::max(last, n); });
        for (const std::int32_t t : {found.by.decay, found.by.state, found.by.state_ids})
            keep(t, last);
        for (const std::int32_t t :
             {found.by.queries, found.by.keys, found.by.values, found.by.beta})
            keep(t, last);
    }
}

/// The last node of a scan: till then one launch may read what its dt is made of, its gate and the
/// states. keep(tensor, last)
template <class Keep>
void keep_scans(const graph_index& g, const Keep& keep) {
    const scan_finder find(g);
    const auto open = [](std::int32_t) { return true; };
    for (std::int32_t i = 0; i < g.view.node_count; ++i) {
        if (g.kind(i) != op::ssm_scan) continue;
        const found_scan found = find.of(i, open);
        if (found.why.found()) continue;
        const state_scan& s = found.by;
        std::int32_t last = i;
        s.each_node([&last](std::int32_t n) { last = std::max(last, n); });
        for (const std::int32_t t : {s.x, s.dt, s.b, s.c, s.z, s.state, s.state_ids}) keep(t, last);
    }
}

/// Do matrices alone read a value, whole and none of them an expert's? With one token their launch
/// may then gate it.
inline bool read_by_matrices(const graph_index& g, std::int32_t value) {
    const array_view<use> readers = g.readers(value);
    return g.root(value) == value && !g.read_outside(value) && !g.output(value) &&
           std::all_of(readers.begin(), readers.end(),
                       [&g](const use& u) { return g.kind(u.node) == op::mul_mat && u.slot == 1; });
}

/// The matmul that makes a value for one node alone, or -1.
inline std::int32_t matmul_for_one(const graph_index& g, std::int32_t value) {
    const std::int32_t made = g.only_node(value) < 0 ? -1 : g.position(value);
    return made >= 0 && g.kind(made) == op::mul_mat ? made : -1;
}

/// The node whose result a value is but for constants that were multiplied or added; -1: none.
inline std::int32_t made_before_constants(const graph_index& g, std::int32_t value) {
    for (int ops = 4; ops > 0; --ops) {
        const std::int32_t made = value == no_tensor ? -1 : g.position(value_behind(g.view, value));
        if (made < 0) break;
        const tensor& t = g.view.node(made);
        const bool by_constant = (t.kind == op::mul || t.kind == op::add) &&
                                 t.src[1] != no_tensor && g.constant(t.src[1]);
        if (!by_constant) return made;
        value = t.src[0];
    }
    return -1;
}

/// Are a gate and what it gates the results of two matrices that differ in their weights alone, or
/// halves of one result, or is the value a function, or a copy, of one result? The launch of these
/// matrices gates them.
inline bool gated_where_made(const graph_index& g, const gated& v) {
    if (v.x.tensor == no_tensor) {
        const std::int32_t made = made_before_constants(g, v.gate.tensor);
        return made >= 0 && is_matmul(g.kind(made));
    }
    const std::int32_t one = matmul_for_one(g, v.gate.tensor), two = matmul_for_one(g, v.x.tensor);
    if (one < 0 || two < 0 || (one == two) != v.halves()) return false;
    const tensor &gate = g.view.node(one), &x = g.view.node(two);
    for (const std::int32_t s : {gate.src[0], gate.src[1], x.src[0], x.src[1]})
        if (s == no_tensor) return false;
    const tensor &gate_weight = g.view.at(gate.src[0]), &weight = g.view.at(x.src[0]);
    return gate_weight.type == weight.type && same_shape(gate_weight, weight) &&
           value_behind(g.view, gate.src[1]) == value_behind(g.view, x.src[1]);
}

/// The input of the RMS_NORM behind a value, or the value.
inline std::int32_t before_norm(const graph_index& g, std::int32_t value) {
    const std::int32_t made = made_before_constants(g, value);
    return made >= 0 && g.kind(made) == op::rms_norm ? g.view.node(made).src[0] : value;
}

/// The last node that may run in one launch with the matrices which alone read a value: till then
/// that launch may read the value, which other matrices may have made, or what it makes the value
/// of: the input of a norm; a gate, or what was copied to it, and what is gated. It does so with
/// few tokens alone; a prompt keeps them, too, since engines run a token in memory allocated for a
/// prompt. keep(tensor, last)
template <class Keep>
void keep_activations(const graph_index& g, const slot_map& slots, const Keep& keep) {
    for (const slot_map::candidate& c : slots.candidates()) {
        if (!read_by_matrices(g, c.value)) continue;
        const std::int32_t made = made_before_constants(g, c.value);
        const op kind = made < 0 ? op::none : g.kind(made);
        if (kind == op::norm) continue;
        const gated v = made < 0 ? gated{{made, reason::no_gate}} : gated_at(g, made);
        if (v.why.found()) {
            keep(before_norm(g, c.value), c.until);
        } else if (gated_where_made(g, v)) {
            keep(c.value, c.until);
        } else {
            for (const std::int32_t t : {v.x.tensor, before_norm(g, v.x.tensor), v.gate.tensor,
                                         gathered_at(g, made).gate.tensor})
                keep(t, c.until);
        }
    }
}

/// The last node that may join a matmul in its launch: till then that reads what the others read
/// beside its results. keep(tensor, last)
template <class Keep>
void keep_operands(const graph_index& g, const slot_map& slots, const Keep& keep) {
    for (const matmul_read& m : g.matmuls()) {
        const std::int32_t last = slots.latest(m.node);
        slots.each_joining(m.node, [&](use next) {
            const std::int32_t made = g.root(g.view.node(next.node).src[next.slot]);
            for (const read_edge& r : g.reads(next.node))
                if (g.root(r.tensor) != made) keep(r.tensor, last);
        });
    }
}

/// The last node of what the first experts make behind a routing: of the matrices that read one
/// activation, and of what one node alone makes of their results.
inline std::int32_t last_of_experts(const graph_index& g, const routing& r) {
    std::int32_t last = r.weigh, read = no_tensor;
    for (const use& u : g.readers(g.view.nodes[r.sort])) {
        if (g.kind(u.node) != op::mul_mat_id || u.slot != 2) continue;
        const std::int32_t x = value_behind(g.view, g.view.node(u.node).src[1]);
        if (read == no_tensor) read = x;
        if (x != read) continue;
        std::int32_t next = u.node;
        for (int i = 0; i <= max_followers && next >= 0; ++i) {
            if (is_matmul(g.kind(next)) && next != u.node) break;
            last = std::max(last, next);
            next = g.only_node(g.view.nodes[next]);
        }
    }
    return last;
}

/// The last node of a routing and of its first experts: till then a launch of these may read the
/// logits. keep(tensor, last)
template <class Keep>
void keep_logits(const graph_index& g, const Keep& keep) {
    route_finder find(g);
    const auto open = [](std::int32_t) { return true; };
    for (std::int32_t i = 0; i < g.view.node_count; ++i) {
        if (g.kind(i) != op::argsort) continue;
        const routing& r = find.of(i, open);
        if (r.why.found()) continue;
        const std::int32_t last = last_of_experts(g, r);
        keep(r.x, last);
        for (const std::int32_t n : r.nodes)  // scores, where another step makes them
            if (g.kind(n) == op::unary) keep(g.view.nodes[n], last);
    }
}

/// What steps may read later than the engine's nodes would, or write beside what is read: heads,
/// attention, convolutions, states, logits, activations, and what joins matmuls; see above. The
/// inputs of a norm and of a gate's function are read until the last MUL or ADD of their chain, or
/// until the ADD of a residual to a norm. The results of experts, and their ids, are read until the
/// last op of the norm that adds them up. Each value is named once.
inline std::vector<keep_alive> delayed_reads(const graph_index& g, const slot_map& slots) {
    std::vector<keep_alive> out;
    std::vector<std::int32_t> place(static_cast<std::size_t>(g.view.tensor_count), -1);  // by root
    slot_sums sums(g);
    const auto keep = [&](std::int32_t tensor, std::int32_t last) {
        const std::int32_t root = tensor == no_tensor ? no_tensor : g.root(tensor);
        if (root == no_tensor || g.constant(root) || g.live_until(root) >= last) return;
        std::int32_t& at = place[static_cast<std::size_t>(root)];
        if (at < 0) {
            at = static_cast<std::int32_t>(out.size());
            out.push_back({tensor, last});
        }
        keep_alive& known = out[static_cast<std::size_t>(at)];
        known.until = std::max(known.until, last);
    };
    keep_heads(g, keep);
    keep_attention(g, keep);
    keep_convolutions(g, keep);
    keep_delta_rules(g, keep);
    keep_scans(g, keep);
    keep_logits(g, keep);
    keep_activations(g, slots, keep);
    keep_operands(g, slots, keep);
    for (std::int32_t i = 0; i < g.view.node_count; ++i) {
        const tensor& t = g.view.node(i);
        const bool norm = t.kind == op::rms_norm || t.kind == op::norm;
        if ((!norm && t.kind != op::unary) || t.src[0] == no_tensor) continue;
        std::int32_t last = i;
        // Weight, SCALE, bias and gate; or the gated value.
        for (int ops = norm ? 4 : 1; ops > 0; --ops) {
            const use u = g.only_reader(g.view.nodes[last]);
            const op next = u.node < 0 ? op::none : g.view.node(u.node).kind;
            const bool adds = next == op::add && u.slot < 2 && norm &&
                              g.view.node(u.node).src[1 - u.slot] != no_tensor;
            const std::int32_t added = adds ? g.view.node(u.node).src[1 - u.slot] : no_tensor;
            const bool bias = adds && g.constant(added);
            const bool residual =
                adds && last != i && same_shape(g.view.at(added), g.view.node(u.node));
            const bool scale = norm && next == op::scale;
            if (next != op::mul && next != op::sqr && !scale && !bias && !residual) break;
            last = u.node;
            if (residual) break;
        }
        if (last != i) keep(t.src[0], last);
        if (!norm) continue;
        const combination& c = sums.whole(t.src[0]);
        for (const std::int32_t read : {c.results, c.weights, c.shared, c.gate, c.residual})
            keep(read, last);
        // These may make the sum, and read the ids till then.
        for (std::int32_t made = c.found() ? g.position(c.results) : -1; made >= 0;) {
            const tensor& maker = g.view.node(made);
            if (maker.kind == op::mul_mat_id || maker.kind == op::add_id) keep(maker.src[2], last);
            made = maker.kind == op::mul && maker.src[0] != no_tensor ? g.position(maker.src[0])
                                                                      : -1;  // by a factor
        }
    }
    return out;
}

}  // namespace detail

}  // namespace CATENA_NAMESPACE
