// Heads become steps: all values of a layer's attention in one launch or, where memory forbids
// that, as many of them as there can be, if an engine needs more launches for these.
#pragma once

#include "catena/match/detail/head_finder.hpp"
#include "catena/plan/detail/draft/attempt.hpp"
#include "catena/plan/detail/find/head_request.hpp"

#include <algorithm>
#include <cstdint>
#include <unordered_set>
#include <utility>
#include <vector>

namespace CATENA_NAMESPACE {

class head_planner : drafter {
  public:
    explicit head_planner(draft& drafted) : drafter(drafted), find_(g_) {}

    /// Tries the heads that a norm begins, if it is one of heads.
    void plan_behind(std::int32_t norm) {
        if (known_.heads < 0) return;
        if (const std::int32_t node = find_.heads_behind(norm); node >= 0) plan(node);
    }

    /// Tries the heads at a ROPE, a CONCAT or a SET_ROWS with those that follow, once.
    void plan(std::int32_t node) {
        if (known_.heads < 0 || !tried_.insert(node).second) return;
        const auto open = [this](std::int32_t i) { return !draft_.covered(i); };
        std::vector<head_chain> all = find_.group(node, open);
        if (all.empty()) return;
        obstacle why = all.front().why.found() ? all.front().why : try_all(all);
        if (!why.found() || why.why == reason::taken) return;
        if (g_.kind(node) == op::concat && !find_.joins_heads(node)) return;
        why.node = node;
        draft_.leave(why, nearest_);
    }

  private:
    const head_finder find_;
    rejection nearest_;
    std::unordered_set<std::int32_t> tried_;

    /// Tries a step of all values, then steps without the first or the last value, and so on. The
    /// two values of a CONCAT stay together.
    obstacle try_all(const std::vector<head_chain>& all) {
        obstacle first;
        const auto cuts = [&all](std::size_t i) { return i < all.size() && all[i].joins_front(); };
        for (std::size_t count = all.size(); count > 0; --count)
            for (std::size_t from = 0; from + count <= all.size(); ++from) {
                if (cuts(from) || cuts(from + count)) continue;
                const auto begin = all.begin() + static_cast<std::ptrdiff_t>(from);
                const obstacle why = step({begin, begin + static_cast<std::ptrdiff_t>(count)});
                if (!why.found()) return from == 0 ? why : first;
                if (!first.found()) first = why;
            }
        return first;
    }

    /// Is what one of them starts from made by another? It is there when the launch is done.
    bool read_each_other(const std::vector<head_chain>& some) const {
        const auto makes = [&](std::int32_t maker) {
            return std::any_of(some.begin(), some.end(),
                               [maker](const head_chain& h) { return h.has(maker); });
        };
        return std::any_of(some.begin(), some.end(),
                           [&](const head_chain& h) { return makes(g_.position(g_.root(h.x))); });
    }

    obstacle step(std::vector<head_chain> some) {
        int launches = 0;
        for (const head_chain& h : some) launches += engine_of(view_).head_launches(view_, h);
        const std::int32_t node = some.front().why.node;
        if (launches < 2 || read_each_other(some)) return {node, reason::one_launch};
        const row_problem what = problem_of(view_, some);
        if (!has_heads(what.needs.stages)) return {node, reason::no_row};  // nothing but copies
        if (what.rows > max_values) return {node, reason::too_large, what.rows, max_values};
        nearest_ = choices_.pick(what).nearest;
        const obstacle why = draft_row(
            what, node, [&](attempt& tried) { cover_heads(g_, some, {}, tried.trial()); });
        if (why.found()) return why;
        add_made(known_.heads, match_of_heads(view_, std::move(some)));
        if (has_norm(what.needs.stages))
            draft_.activations.back().norm_apart = {node, reason::norm_of_heads};
        return {};
    }
};

}  // namespace CATENA_NAMESPACE
