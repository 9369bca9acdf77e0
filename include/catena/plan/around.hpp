// What stands around a node, asked before its chain is matched: that is cheaper.
#pragma once

#include "catena/plan/build.hpp"

#include <algorithm>

namespace catena {

/// Is what makes a sum of experts still to be done, all of it or all behind the sum of the slots,
/// which their own launch makes? Then that is left out.
inline bool plan_builder::sum_open(combination& c) const {
    const auto covered = [this](std::int32_t n) { return schedule_.covered(n); };
    const auto behind = c.nodes.begin() + static_cast<std::ptrdiff_t>(c.slot_nodes);
    if (behind != c.nodes.end() && std::all_of(c.nodes.begin(), behind, covered)) c.leave_slots();
    return std::none_of(c.nodes.begin(), c.nodes.end(), covered);
}

/// Is the input of the norm a sum that no step covers yet?
inline bool plan_builder::sum_left(std::int32_t norm) const {
    const std::int32_t x = view_.node(norm).src[0];
    const std::int32_t sum = x == no_tensor ? -1 : g_.position(x);
    return sum >= 0 && g_.kind(sum) == op::add && !schedule_.covered(sum);
}

/// Is a norm read as a chain without a weight wants it: by others than one MUL or, if it is gated,
/// by one MUL with something else than a weight of one row?
inline bool plan_builder::unweighted(std::int32_t norm, bool gate) const {
    const use only = g_.only_reader(view_.nodes[norm]);
    if (only.node < 0 || only.slot > 1 || g_.kind(only.node) != op::mul) return !gate;
    const std::int32_t other = view_.node(only.node).src[1 - only.slot];
    return gate && other != no_tensor &&
           !(g_.constant(other) && elements(view_.at(other)) == view_.node(norm).ne[0]);
}

/// What alone reads the result of the one op that reads the norm.
inline use plan_builder::behind_scale(std::int32_t norm) const {
    const use scale = g_.only_reader(view_.nodes[norm]);
    return scale.node < 0 ? use{} : g_.only_reader(view_.nodes[scale.node]);
}

/// Does no step cover the ADD yet (an epilogue may) and, if its sum should be normed again, does
/// a norm read that?
inline bool plan_builder::summed(std::int32_t add, bool again) const {
    if (schedule_.covered(add)) return false;
    const std::int32_t sum = view_.nodes[add];
    const auto norms = [this](const use& u) { return g_.kind(u.node) == op::rms_norm; };
    return !again || std::any_of(g_.readers_begin(sum), g_.readers_end(sum), norms);
}

/// Is it a MUL of which no factor is the result of a UNARY?
inline bool plan_builder::mere_product(std::int32_t node) const {
    const auto by_unary = [this](std::int32_t factor) {
        if (factor == no_tensor) return false;
        const std::int32_t maker = g_.position(value_behind(view_, factor));
        return maker >= 0 && g_.kind(maker) == op::unary;
    };
    const tensor& t = view_.node(node);
    return t.kind == op::mul && !by_unary(t.src[0]) && !by_unary(t.src[1]);
}

/// Does a matmul read the value, by any name?
inline bool plan_builder::multiplied(std::int32_t value) const {
    const std::int32_t root = g_.root(value);
    return std::any_of(g_.readers_begin(root), g_.readers_end(root),
                       [this](const use& u) { return is_matmul(g_.kind(u.node)); });
}

/// Does an engine make the value in one launch? Of what is no norm others know better.
inline bool plan_builder::engine_needs_one(const match& m) const {
    return m.norm < 0 || engine_launches(view_, m) < 2;
}

}  // namespace catena
