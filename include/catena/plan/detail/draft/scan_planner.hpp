// Scans of state spaces become steps: with what makes their dt, keeps the states of the sequences,
// and gates the values.
#pragma once

#include "catena/match/detail/scan_finder.hpp"
#include "catena/plan/detail/draft/attempt.hpp"
#include "catena/plan/detail/find/head_request.hpp"

#include <cstdint>
#include <utility>

namespace CATENA_NAMESPACE {

class scan_planner : drafter {
  public:
    explicit scan_planner(draft& drafted) : drafter(drafted), find_(g_) {}

    /// Tries the scan at an SSM_SCAN.
    void plan(std::int32_t node) {
        if (known_.scan < 0) return;
        const auto open = [this](std::int32_t i) { return !draft_.covered(i); };
        const found_scan found = find_.of(node, open);
        obstacle why = found.why.found() ? found.why : draft_most(found.by);
        why.node = node;
        if (why.found()) draft_.leave(why, nearest_);
    }

  private:
    const scan_finder find_;
    rejection nearest_;

    /// Drafts the scan, or without what memory forbids: its gate, its share of x, the raw dt. What
    /// forbids all of these.
    obstacle draft_most(const state_scan& all) {
        const obstacle why = step(all);
        if (!why.found() || draft_less(all)) return {};
        const state_scan made = find_.with_made_dt(all);
        const bool drafted = all.bias >= 0 && (!step(made).found() || draft_less(made));
        return drafted ? obstacle{} : why;
    }
    bool draft_less(const state_scan& s) {
        return (s.gate >= 0 && !step(find_.without_gate(s)).found()) ||
               (s.add >= 0 && !step(find_.without_share(s)).found());
    }

    obstacle step(const state_scan& by) {
        if (by.k % values_of_warp != 0) return {by.scan, reason::scan_shape};
        if (by.keep < 0 && by.bias < 0 && by.add < 0) return {by.scan, reason::one_launch};
        const row_problem what = problem_of(view_, by);
        nearest_ = choices_.pick(what).nearest;
        const obstacle why =
            draft_row(what, by.scan, [&](attempt& tried) { cover_scan(g_, by, tried.trial()); });
        if (why.found()) return why;
        match m;
        m.stages = what.needs.stages;
        m.node = by.made_by();
        m.activation = view_.nodes[m.node];
        m.stream = view_.node(m.node).stream;
        m.f32_needed = true;
        m.scanned = by;
        add_made(known_.scan, std::move(m));
        return {};
    }
};

}  // namespace CATENA_NAMESPACE
