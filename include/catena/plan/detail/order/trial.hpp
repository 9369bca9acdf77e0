// A step that is tried: which nodes it covers, what it then touches, and where it may stand.
#pragma once

#include "catena/match/detail/match.hpp"
#include "catena/plan/detail/order/schedule.hpp"

#include <algorithm>
#include <cstdint>

namespace CATENA_NAMESPACE {

/// The sources of `node` that are results of some nodes, as bits.
template <class Makers>
unsigned fed_by(const graph_index& g, std::int32_t node, const Makers& makers) {
    unsigned bits = 0;
    if (makers.size() == 0) return bits;  // there need be no such node
    for (const read_edge& r : g.reads(node)) {
        const std::int32_t maker = g.position(g.root(r.tensor));
        if (std::find(makers.begin(), makers.end(), maker) != makers.end()) bits |= 1u << r.slot;
    }
    return bits;
}

/// The sources of `node` that are results of one node, as bits.
inline unsigned fed_by(const graph_index& g, std::int32_t node, std::int32_t maker) {
    return fed_by(g, node, array_view<std::int32_t>{&maker, &maker + 1});
}

/// Lets a step cover what the row step of a match does.
inline void cover_row(const graph_index& g, const match& m, trial_step& trial) {
    const auto node = [&](std::int32_t position, bool elided, unsigned internal) {
        trial.nodes.push_back({position, elided, internal, ~0u});
    };
    if (m.stages.empty()) {
        const auto first = std::find_if(m.readers.begin(), m.readers.end(),
                                        [](const reader& r) { return r.quantized(); });
        trial.also_reads = m.reads[operand::x].tensor;
        trial.launch_at = first->node;
        return;
    }
    const std::vector<std::int32_t>& summed = m.experts.nodes;  // most of them the last first
    for (auto n = summed.rbegin(); n != summed.rend(); ++n)
        node(*n, *n != m.sum || !m.sum_needed, fed_by(g, *n, summed));
    // A node reads the value that the one before it made, and what was made aside for it.
    std::int32_t value = m.experts.found() ? m.sum : -1;
    std::size_t aside = 0;
    for (std::size_t i = 0; i < m.taken.size(); ++i) {
        const taken_node& n = m.taken[i];
        unsigned internal = value < 0 ? 0 : fed_by(g, n.node, value);
        for (std::size_t made = aside; made < i; ++made)
            internal |= fed_by(g, n.node, m.taken[made].node);
        const bool written =
            g.view.nodes[n.node] == m.activation ? m.f32_needed : n.node == m.sum && m.sum_needed;
        node(n.node, !written, internal);
        if (n.aside) continue;
        value = n.node;
        aside = i + 1;
    }
    std::sort(trial.nodes.begin(), trial.nodes.end(),
              [](const covered_node& a, const covered_node& b) { return a.node < b.node; });
}

}  // namespace CATENA_NAMESPACE
