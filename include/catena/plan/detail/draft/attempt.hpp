// A step of a plan that is tried, and what those who try steps share.
#pragma once

#include "catena/plan/detail/draft/draft.hpp"
#include "catena/plan/detail/order/trial.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace CATENA_NAMESPACE {

/// A step that is tried: the last one of the draft, with the last of its outputs. Both are taken
/// back when the attempt ends, unless it was accepted. One attempt is open at a time.
class attempt {
  public:
    explicit attempt(draft& drafted) : draft_(&drafted), first_output_(drafted.outputs.size()) {
        trial_step fresh;
        fresh.nodes.swap(trial().nodes);  // their memory serves again
        fresh.nodes.clear();
        trial() = std::move(fresh);
        drafted.steps.emplace_back(drafted.blank_);
    }
    attempt(attempt&& other) noexcept
        : draft_(std::exchange(other.draft_, nullptr)), first_output_(other.first_output_) {}
    attempt& operator=(attempt&&) = delete;
    ~attempt() {
        if (draft_ == nullptr) return;
        draft_->steps.pop_back();
        draft_->outputs.erase(draft_->outputs.begin() + static_cast<std::ptrdiff_t>(first_output_),
                              draft_->outputs.end());
    }

    /// What is launched.
    catena::step& step() { return draft_->steps.back(); }
    /// What it covers, and where it may stand.
    trial_step& trial() { return draft_->trial_; }

    /// Lets the step write, or read, the quantized activation of a match. The step may be launched
    /// only while the activation has its slot.
    void writes(const match& m) { trial().from = std::max(trial().from, draft_->slot_of(m).from); }
    void reads(const match& m) {
        trial().until = std::min(trial().until, draft_->slot_of(m).until);
    }

    void add(const output& o) { draft_->outputs.emplace_back(o); }

    /// The first node that forbids the step, as schedule::blocker.
    std::int32_t blocker(std::size_t first = 0) { return draft_->accepted.blocker(trial(), first); }
    /// Finds a position at one of the nodes that the step covers, as schedule::find_position.
    std::int32_t find_place() { return draft_->accepted.find_position(trial()); }

    /// Ends the attempt: the step stays. Returns its number among accepted steps.
    std::int32_t accept() {
        draft& d = *std::exchange(draft_, nullptr);
        catena::step& s = d.steps.back();
        d.first_output.push_back(static_cast<std::int32_t>(first_output_));
        s.launch_at = d.trial_.launch_at;
        s.node_count = static_cast<std::int32_t>(d.trial_.nodes.size());
        return d.accepted.accept(d.trial_);
    }

  private:
    draft* draft_;
    std::size_t first_output_;
};

/// What those who draft steps share.
class drafter {
  public:
    explicit drafter(draft& drafted)
        : g_(drafted.g),
          view_(g_.view),
          draft_(drafted),
          known_(drafted.known),
          choices_(drafted.rows),
          sums_(drafted.sums) {}

  protected:
    const graph_index& g_;
    const graph_view& view_;
    draft& draft_;
    const premises& known_;
    choices& choices_;
    slot_sums& sums_;

    /// Drafts the row step of the activation that is recorded next. `cover(tried)` says which nodes
    /// it covers. Returns what keeps node `node` from being part of it, or reason::none.
    template <class Cover>
    obstacle draft_row(const row_problem& what, std::int32_t node, const Cover& cover) {
        const picked& found = choices_.pick(what);
        if (found.row < 0) return {node, reason::no_row};
        attempt tried(draft_);
        tried.step().what = what;
        tried.step().chain = static_cast<std::int32_t>(draft_.activations.size());
        run_by(tried.step(), found);
        cover(tried);
        if (const std::int32_t v = tried.find_place(); v >= 0) return {node, reason::overlap, v};
        tried.accept();
        return {};
    }

    /// Records the activation that the last step makes.
    std::int32_t add_made(std::int32_t chain, match&& m) {
        return draft_.add_activation(chain, std::move(m),
                                     static_cast<std::int32_t>(draft_.steps.size()) - 1);
    }
};

}  // namespace CATENA_NAMESPACE
