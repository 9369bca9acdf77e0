// The step that is tried: which nodes it covers, what it then touches, and where it may stand.
#pragma once

#include "catena/plan/build.hpp"

#include <algorithm>

namespace catena {

/// Makes the row step of a match the one that is tried.
inline void plan_builder::try_row(const match& m) {
    const auto node = [this](std::int32_t position, bool elided, unsigned internal) {
        trial_.nodes.push_back({position, elided, internal, ~0u});
    };
    switch (m.kind) {
        case value_kind::plain:
            trial_.also_reads = m.x.tensor;
            trial_.launch_at =
                std::find_if(m.readers.begin(), m.readers.end(), reads_quantized)->node;
            break;
        default: {
            std::int32_t value = -1;  // what the next node of the chain reads
            const auto next = [&](std::int32_t n, unsigned internal) {
                if (n < 0) return;
                const bool written = view_.nodes[n] == m.activation ? m.f32_needed
                                                                    : n == m.add && m.sum_needed;
                node(n, !written, internal | (value < 0 ? 0u : fed_by(n, value)));
                value = n;
            };
            for (const std::int32_t n : m.experts.nodes)
                if (n != m.add) node(n, true, fed_by_experts(n, m));
            if (!m.joins()) next(m.add, fed_by_experts(m.add, m));
            for (const std::int32_t n : {m.norm, m.mul, m.bias_add}) next(n, 0);
            if (m.joins())
                for (const std::int32_t n : {m.add, m.next_norm, m.next_mul}) next(n, 0);
            const bool gathers = m.copy >= 0 && !m.copies();
            if (gathers) node(m.copy, true, 0);
            if (m.unary >= 0) node(m.unary, true, gathers ? fed_by(m.unary, m.copy) : 0);
            next(m.glu, m.unary < 0 ? 0u : fed_by(m.glu, m.unary));
            std::sort(trial_.nodes.begin(), trial_.nodes.end(),
                      [](const covered_node& a, const covered_node& b) { return a.node < b.node; });
        }
    }
}

/// The sources of `node` that are the result of `maker`, as bits.
inline unsigned plan_builder::fed_by(std::int32_t node, std::int32_t maker) const {
    unsigned bits = 0;
    for (const read_edge& r : g_.reads(node))
        if (g_.root(r.tensor) == view_.nodes[maker]) bits |= 1u << r.slot;
    return bits;
}

/// The same of all that make the sum of experts.
inline unsigned plan_builder::fed_by_experts(std::int32_t node, const match& m) const {
    const std::vector<std::int32_t>& makers = m.experts.nodes;
    unsigned bits = 0;
    if (makers.empty()) return bits;  // there need be no such node
    for (const read_edge& r : g_.reads(node)) {
        const std::int32_t maker = g_.position(g_.root(r.tensor));
        if (std::find(makers.begin(), makers.end(), maker) != makers.end()) bits |= 1u << r.slot;
    }
    return bits;
}

/// Finds a launch position for the step that is tried among its own nodes, the last first. -1,
/// or what forbids it.
inline std::int32_t plan_builder::find_position() {
    if (trial_.nodes.empty()) return -1;
    std::int32_t blocked = -1;
    for (auto n = trial_.nodes.rbegin(); n != trial_.nodes.rend(); ++n) {
        trial_.launch_at = n->node;
        const std::int32_t v = schedule_.blocker(trial_);
        if (v < 0) return -1;
        if (blocked < 0) blocked = v;
    }
    return blocked;
}

}  // namespace catena
