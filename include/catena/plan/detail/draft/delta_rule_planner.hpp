// Linear attention by the gated delta rule becomes steps: with what picks the state of the
// sequence, makes its decay and keeps it.
#pragma once

#include "catena/match/detail/delta_rule_finder.hpp"
#include "catena/plan/detail/draft/attempt.hpp"
#include "catena/plan/detail/find/head_request.hpp"

#include <cstdint>
#include <utility>

namespace CATENA_NAMESPACE {

class delta_rule_planner : drafter {
  public:
    explicit delta_rule_planner(draft& drafted) : drafter(drafted), find_(g_) {}

    /// Tries the rule at a GATED_DELTA_NET.
    void plan(std::int32_t node) {
        if (known_.delta_rule < 0) return;
        const auto open = [this](std::int32_t i) { return !draft_.covered(i); };
        const found_delta_rule found = find_.of(node, open);
        obstacle why = found.why.found() ? found.why : draft_most(found.by);
        why.node = node;
        if (why.found()) draft_.leave(why, nearest_);
    }

  private:
    const delta_rule_finder find_;
    rejection nearest_;

    /// Drafts the rule, or without what memory forbids: with operands where the engine moves them,
    /// or with a decay, or states, that another launch has made. What forbids all of these.
    obstacle draft_most(const delta_rule& all) {
        const obstacle why = step(all);
        if (!why.found()) return {};
        const delta_rule plain = find_.with_moved_operands(all);
        const bool drafted = (moves_operands(all) && !step(plain).found()) ||
                             (plain.weigh >= 0 && !step(find_.with_made_decay(plain)).found()) ||
                             (plain.pick >= 0 && !step(find_.with_gathered_states(plain)).found());
        return drafted ? obstacle{} : why;
    }

    /// Does the launch read some operand where it lay before the engine moves it?
    static bool moves_operands(const delta_rule& by) {
        return by.bias >= 0 || by.sigmoid >= 0 || by.repeat_queries >= 0;
    }

    obstacle step(const delta_rule& by) {
        // The rule and the CPY behind it are one launch of ggml-cuda (fused_state_cpy in
        // ggml-cuda.cu).
        if (!by.more_than_op()) return {by.rule, reason::one_launch};
        const row_problem what = problem_of(view_, by);
        nearest_ = choices_.pick(what).nearest;
        const obstacle why = draft_row(
            what, by.rule, [&](attempt& tried) { cover_delta_rule(g_, by, tried.trial()); });
        if (why.found()) return why;
        match m;
        m.stages = what.needs.stages;
        m.node = by.rule;
        m.activation = view_.nodes[by.rule];
        m.stream = view_.node(by.rule).stream;
        m.f32_needed = true;
        m.recalled = by;
        add_made(known_.delta_rule, std::move(m));
        return {};
    }
};

}  // namespace CATENA_NAMESPACE
