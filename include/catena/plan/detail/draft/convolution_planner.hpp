// Convolutions become steps: with what gathers and keeps the state of the sequence, and with the
// norms of heads that read them where memory allows that.
#pragma once

#include "catena/match/detail/convolution_finder.hpp"
#include "catena/plan/detail/draft/attempt.hpp"
#include "catena/plan/detail/find/head_request.hpp"

#include <cstdint>
#include <utility>

namespace CATENA_NAMESPACE {

class convolution_planner : drafter {
  public:
    explicit convolution_planner(draft& drafted) : drafter(drafted), find_(g_) {}

    /// Tries the convolution at an SSM_CONV. Any engine needs two launches for it at least.
    void plan(std::int32_t node) {
        if (known_.convolution < 0) return;
        convolved_values found = find_.of(node);
        meets_itself_ = false;
        obstacle why = found.why.found() ? found.why : step(found);
        if (why.found() && meets_itself_) {
            found = convolution_finder::without_norms(found.by);
            why = step(found);
        }
        why.node = node;
        if (why.found()) draft_.leave(why, nearest_);
    }

  private:
    const convolution_finder find_;
    rejection nearest_;
    bool meets_itself_ = false;  ///< nodes of the step that was tried meet, wherever it stands

    obstacle step(convolved_values& of) {
        const std::int32_t node = of.by.convolve;
        const row_problem what = problem_of(view_, of.values, of.by);
        nearest_ = choices_.pick(what).nearest;
        const obstacle why = draft_row(what, node, [&](attempt& tried) {
            cover_heads(g_, of.values, of.by, tried.trial());
            meets_itself_ = !of.alone() && draft_.accepted.meets_itself(tried.trial());
            if (meets_itself_) tried.trial().until = -1;  // no position is legal
        });
        if (why.found()) return why;
        match m;
        m.stages = what.needs.stages;
        m.node = of.by.made_by();
        m.activation = view_.nodes[m.node];
        m.stream = view_.node(m.node).stream;
        m.f32_needed = of.by.written;
        m.values = std::move(of.values);
        m.convolved = of.by;
        add_made(known_.convolution, std::move(m));
        if (has_norm(what.needs.stages))
            draft_.activations.back().norm_apart = {node, reason::norm_of_heads};
        return {};
    }
};

}  // namespace CATENA_NAMESPACE
