// Activations that are computed in the launch of their readers (policy.placement). If only the
// matrices of one launch read a norm or a gated value, or need a quantized copy of a value that is
// there as f32, that launch can compute it, and no row step is needed. A launch of float weights
// that computes a norm also writes it, as f32 and as q8_1, for all later readers. The table says
// which groups can do this; the cost model or medians say whether it takes less time.
#pragma once

#include "catena/plan/detail/draft/group.hpp"
#include "catena/plan/detail/draft/inside_judge.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

namespace CATENA_NAMESPACE {

class inside_fuser : drafter {
  public:
    inside_fuser(draft& drafted, output_finder& outputs, group_trial& trial, grouper& groups,
                 weigher& weigh)
        : drafter(drafted),
          outputs_(outputs),
          trial_(trial),
          groups_(groups),
          weigh_(weigh),
          judge_(drafted) {}

    /// Makes an activation and its readers one step and takes the match, if that is legal and takes
    /// less time. Else it says why not and changes nothing. `f32_by_others`: somebody reads the f32
    /// that the step writes.
    obstacle fuse(const family& f, match& m, bool f32_by_others) {
        const inside_scope scope = judge_.scope_of(m, f32_by_others);
        if (const obstacle no = judge_.fits(m, scope); no.found()) return no;
        if (scope.float_weights) f32_by_others = scope.written.has(format::f32);
        product_problem bare;
        for (const reader& r : m.readers) {
            if (!scope.holds(r)) continue;
            if (bare.member_count == max_members) return {m.node, reason::norm_shared};
            if (bare.member_count == 0)
                bare = empty_group(view_, skeleton::matvec, r.layout, r.node), scope.make(bare);
            add_member(view_, bare, plain_output(view_, r.node), false, true);
        }
        obstacle why = weigh_.inside(m, bare);  // most that do not pay are seen by that
        if (why.found()) return why;

        const draft::mark before = draft_.here();
        const bool f32_needed = std::exchange(m.f32_needed, f32_by_others);
        const std::int32_t index = draft_.add_activation(choices_.chain_of(f, m), std::move(m), -1);
        match& found = draft_.activations.back().found;
        std::vector<output> waiting;
        std::optional<attempt> tried = try_step(f, index, scope, waiting);
        why = tried ? weigh_.inside(found, tried->step().what.product())
                    : obstacle{found.node, reason::norm_split};
        if (why.found()) {
            tried.reset();
            for (reader& r : found.readers) r.dealt = false;
            m = std::move(found);
            m.f32_needed = f32_needed;
            draft_.back_to(before);
            return why;
        }
        for (const output& o : waiting)  // these will read what it writes
            for (reader& r : found.readers)
                if (r.node == o.matmul || r.node == o.up) r.dealt = false;
        if (!scope.float_weights) draft_.activations.back().layouts = {};
        if (scope.norm || !scope.gated.empty())
            draft_.activations.back().made_by = static_cast<std::int32_t>(draft_.steps.size()) - 1;
        groups_.close(*tried);
        groups_.group(f, index);  // who reads what the step writes, or the engine's f32
        return {};
    }

  private:
    output_finder& outputs_;
    group_trial& trial_;
    grouper& groups_;
    weigher& weigh_;
    inside_judge judge_;

    /// Tries a step of the readers in scope of an activation. What it has no room for stays in
    /// `waiting`. None: not all of these readers can be in it, or a reader of what it writes runs
    /// too early.
    std::optional<attempt> try_step(const family& f, std::int32_t activation,
                                    const inside_scope& scope, std::vector<output>& waiting) {
        match& found = draft_.activation(activation).found;
        std::vector<reader>& readers = found.readers;
        const std::size_t left = draft_.left.size();
        reader* const end = readers.data() + readers.size();
        const auto held = [&scope](const reader& r) { return scope.holds(r); };
        waiting = outputs_.outputs(f.common, std::find_if(readers.data(), end, held), end);
        attempt tried = trial_.begin(activation, waiting.front().matmul);
        scope.make(tried.step().what.product());
        if (scope.float_weights && !found.layouts().empty()) tried.writes(found);
        if (!found.stages.empty()) cover_row(g_, found, tried.trial());
        if (!trial_.fill(f, tried, waiting)) return std::nullopt;
        const bool whole = waiting.empty() && draft_.left.size() == left &&
                           std::none_of(readers.begin(), readers.end(), [&](const reader& r) {
                               return scope.holds(r) && !r.dealt;
                           });
        const auto too_early = [&](const reader& r) {
            return r.quantized() && r.node < tried.trial().launch_at;
        };
        const bool right = scope.float_weights
                               ? (whole || writes_f32(found, tried)) &&
                                     std::none_of(readers.begin(), readers.end(), too_early)
                               : whole;
        return right ? std::optional<attempt>(std::move(tried)) : std::nullopt;
    }

    /// Lets the step that is tried write its norm as f32, for float weights that cannot join it.
    bool writes_f32(match& m, attempt& tried) {
        if (m.f32_needed) return true;
        m.f32_needed = true;
        product_problem& what = tried.step().what.product();
        what.needs.emits = what.needs.emits | format::f32;
        for (covered_node& c : tried.trial().nodes)
            if (view_.nodes[c.node] == m.activation) c.elided = false;
        const picked& found = choices_.pick(what);
        if (found.row >= 0) run_by(tried.step(), found);
        return found.row >= 0 && tried.blocker() < 0;
    }
};

}  // namespace CATENA_NAMESPACE
