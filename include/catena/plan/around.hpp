// What stands around a node, asked before its chain is matched: that is cheaper.
#pragma once

#include "catena/match/engine_launches.hpp"
#include "catena/plan/draft.hpp"

#include <algorithm>

namespace catena {

/// Is what makes a sum of experts still to be done, all of it or all behind the sum of the slots,
/// which their own launch makes? Then that is left out.
inline bool sum_open(const draft& drafted, combination& c) {
    const auto covered = [&](std::int32_t n) { return drafted.covered(n); };
    const auto behind = c.nodes.begin() + static_cast<std::ptrdiff_t>(c.slot_nodes);
    if (behind != c.nodes.end() && std::all_of(c.nodes.begin(), behind, covered)) c.leave_slots();
    return std::none_of(c.nodes.begin(), c.nodes.end(), covered);
}

/// Is the input of the norm a sum that no step covers yet?
inline bool sum_left(const draft& drafted, std::int32_t norm) {
    const graph_index& g = drafted.g;
    const std::int32_t x = g.view.node(norm).src[0];
    const std::int32_t sum = x == no_tensor ? -1 : g.position(x);
    return sum >= 0 && g.kind(sum) == op::add && !drafted.covered(sum);
}

/// Is a norm read as a chain without a weight wants it: by others than one MUL or, if it is gated,
/// by one MUL with something else than a weight of one row?
inline bool unweighted(const graph_index& g, std::int32_t norm, bool gate) {
    const use only = g.only_reader(g.view.nodes[norm]);
    if (only.node < 0 || only.slot > 1 || g.kind(only.node) != op::mul) return !gate;
    const std::int32_t other = g.view.node(only.node).src[1 - only.slot];
    return gate && other != no_tensor &&
           !(g.constant(other) && elements(g.view.at(other)) == g.view.node(norm).ne[0]);
}

/// What alone reads the result of the one op that reads the norm.
inline use behind_scale(const graph_index& g, std::int32_t norm) {
    const use scale = g.only_reader(g.view.nodes[norm]);
    return scale.node < 0 ? use{} : g.only_reader(g.view.nodes[scale.node]);
}

/// Does no step cover the ADD yet (an epilogue may) and, if its sum, times a number or not, should
/// be normed again, does a norm read that?
inline bool summed(const draft& drafted, std::int32_t add, bool again) {
    const graph_index& g = drafted.g;
    if (drafted.covered(add)) return false;
    const use next = g.only_reader(g.view.nodes[add]);
    const bool product = next.node >= 0 && g.kind(next.node) == op::mul;
    const std::int32_t sum = g.view.nodes[product ? next.node : add];
    return !again || g.read_by(sum, op::rms_norm);
}

/// Is it a MUL of which no factor is the result of a UNARY?
inline bool mere_product(const graph_index& g, std::int32_t node) {
    const auto by_unary = [&](std::int32_t factor) {
        if (factor == no_tensor) return false;
        const std::int32_t maker = g.position(value_behind(g.view, factor));
        return maker >= 0 && g.kind(maker) == op::unary;
    };
    const tensor& t = g.view.node(node);
    return t.kind == op::mul && !by_unary(t.src[0]) && !by_unary(t.src[1]);
}

/// Does a matmul read the value, by any name and as any operand?
inline bool read_by_matmul(const graph_index& g, std::int32_t value) {
    const std::int32_t root = g.root(value);
    return g.read_by(root, op::mul_mat) || g.read_by(root, op::mul_mat_id);
}

/// Does an engine make the value in one launch? Of what is no norm others know better.
inline bool engine_needs_one(const graph_view& view, const match& m) {
    return m.norm < 0 || engine_launches(view, m) < 2;
}

}  // namespace catena
