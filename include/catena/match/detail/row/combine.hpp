// combine: the sum of what a token's experts made, with all that joins it, a residual too.
#pragma once

#include "catena/match/detail/row/stage.hpp"

#include <algorithm>

namespace CATENA_NAMESPACE {

template <>
struct stage_match<stage_kind::combine> : idle_match {
    static bool may_fit(const site& s) { return may_combine(s.view, s.view.node(s.node).src[0]); }

    /// Rewrite ADD(SCALE(ADD(SLOTS(MUL(results, weights)), MUL(shared, SIGMOID(gate))), c),
    /// residual) to add_residual(scale(combine(results, weights, shared, gate), c), residual),
    /// where SLOTS is ADD(.., ADD(VIEW 0, VIEW 1), .., VIEW last) of a token's slots. Every part
    /// but SLOTS may be missing. The sum of the slots may be the result of another launch.
    static obstacle take(const site& s, match& m) {
        const std::int32_t sum = m.reads[operand::x].tensor;
        m.experts = s.sums.whole(sum);
        if (!m.experts.found()) return {m.node, reason::no_experts};
        if (!leave_covered(s, m.experts)) return {m.node, reason::taken};
        m.reads[operand::x] = s.rows(m.experts.shared);
        m.reads[operand::residual] = s.rows(m.experts.residual);
        if (m.experts.residual == no_tensor) m.stages = m.stages.without(stage_kind::add_residual);
        if (m.experts.scale == 1) m.stages = m.stages.without(stage_kind::scale);
        m.params.x_scale = m.experts.scale;
        m.sum = s.index.position(sum);
        m.sum_needed = s.needed(sum);
        return {};
    }

  private:
    /// Are all nodes of the sum free, that is not covered by a step? If the launch of the experts
    /// covers the sum of the slots, the slots are left out, and if a launch covers the shared
    /// expert's gate, the gate is.
    static bool leave_covered(const site& s, combination& c) {
        const auto open = [&s](std::int32_t n) { return s.open(n); };
        const array_view<std::int32_t> gate = c.gate_nodes();
        if (!std::all_of(gate.begin(), gate.end(), open)) c.leave_gate(s.view.nodes[gate[0]]);
        const auto behind = c.nodes.begin() + static_cast<std::ptrdiff_t>(c.slot_nodes);
        if (behind != c.nodes.end() && std::none_of(c.nodes.begin(), behind, open)) c.leave_slots();
        return std::all_of(c.nodes.begin(), c.nodes.end(), open);
    }
};

}  // namespace CATENA_NAMESPACE
