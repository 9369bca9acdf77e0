// What engines do in one launch themselves: the routing of a token to its experts, a soft cap, a
// convolution with its activation. A chain that took a part of it would leave the rest in several.
// ggml-cuda has these fusions; they are known by who reads what, for any engine.
#pragma once

#include "catena/match/index.hpp"

#include <algorithm>

namespace catena {

/// Is node `position` the function by which experts are picked? Its values are sorted, as they are
/// or behind one ADD, and those of the picked are gathered.
inline bool begins_routing(const graph_index& g, std::int32_t position) {
    const std::int32_t value = g.view.nodes[position];
    if (g.root(value) != value || g.reader_count(value) != 2) return false;
    bool sorted = false, gathered = false;
    for (const use& u : g.readers(value)) {
        const op kind = g.kind(u.node);
        const use behind = kind == op::add ? g.only_reader(g.view.nodes[u.node]) : u;
        sorted = sorted || (behind.node >= 0 && g.kind(behind.node) == op::argsort);
        gathered = gathered || kind == op::get_rows;
    }
    return sorted && gathered;
}

/// Is node `position` the first SCALE of a soft cap: of SCALE, TANH, SCALE?
inline bool begins_soft_cap(const graph_index& g, std::int32_t position) {
    const use function = g.only_reader(g.view.nodes[position]);
    if (function.node < 0 || g.view.node(function.node).sub != sub_op::tanh) return false;
    const use next = g.only_reader(g.view.nodes[function.node]);
    return next.node >= 0 && g.kind(next.node) == op::scale;
}

/// Is node `position` a function of what a convolution makes, with or without a bias?
inline bool ends_convolution(const graph_index& g, std::int32_t position) {
    const auto alone = [&g](std::int32_t value, op kind) {
        return g.view.at(value).kind == kind && g.only_reader(value).node >= 0;
    };
    const std::int32_t of = g.view.node(position).src[0];
    if (of == no_tensor) return false;
    if (alone(of, op::ssm_conv)) return true;
    const tensor& sum = g.view.at(of);
    return alone(of, op::add) && std::any_of(sum.src, sum.src + 2, [&](std::int32_t s) {
               return s != no_tensor && alone(s, op::ssm_conv);
           });
}

/// Does an engine do node `position`, a SCALE or a UNARY, in one launch with what stands around it?
inline bool engine_fuses(const graph_index& g, std::int32_t position) {
    switch (g.kind(position)) {
        case op::scale:
            return begins_soft_cap(g, position);
        case op::unary:
            return begins_routing(g, position) || ends_convolution(g, position);
        default:
            return false;
    }
}

}  // namespace catena
