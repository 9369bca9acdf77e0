// A routing becomes one step, if an engine needs more launches for it.
#pragma once

#include "catena/match/detail/route_finder.hpp"
#include "catena/match/ggml_cuda.hpp"
#include "catena/plan/detail/draft/attempt.hpp"
#include "catena/plan/detail/find/route_request.hpp"

#include <cstdint>
#include <unordered_set>
#include <utility>

namespace CATENA_NAMESPACE {

class route_planner : drafter {
  public:
    explicit route_planner(draft& drafted) : drafter(drafted), find_(drafted.routings) {}

    /// Tries the routing whose scores a node makes, if experts are sorted by what it makes.
    void plan_behind(std::int32_t node) {
        if (known_.routing < 0) return;
        for (const use& u : g_.readers(g_.root(view_.nodes[node]))) {
            if (g_.kind(u.node) == op::argsort) plan(u.node);
            if (g_.kind(u.node) != op::add) continue;
            for (const use& behind : g_.readers(g_.root(view_.nodes[u.node])))
                if (g_.kind(behind.node) == op::argsort) plan(behind.node);
        }
    }

    /// Tries the routing that an ARGSORT belongs to, once.
    void plan(std::int32_t sort) {
        if (known_.routing < 0 || draft_.covered(sort) || !tried_.insert(sort).second) return;
        const auto open = [this](std::int32_t i) { return !draft_.covered(i); };
        const routing& found = find_.around(sort, open);
        obstacle why = found.why.found() ? found.why : step(found);
        if (!why.found() || why.why == reason::taken) return;
        why.node = sort;
        draft_.leave(why, nearest_);
    }

  private:
    route_finder& find_;
    rejection nearest_;  // of the last routing that was asked for
    std::unordered_set<std::int32_t> tried_;

    obstacle step(const routing& r) {
        const bool engines = !view_.node(r.sort).inside;  // it can leave it to the engine
        if (engines && engine_of(view_).routing_launches(g_, r) < 2)
            return {r.sort, reason::one_launch};
        const row_problem what = problem_of(r);
        nearest_ = choices_.pick(what).nearest;
        const obstacle why =
            draft_row(what, r.sort, [&](attempt& tried) { cover_routing(g_, r, tried.trial()); });
        if (!why.found()) add_made(known_.routing, routed_match(view_, routing(r)));
        return why;
    }
};

}  // namespace CATENA_NAMESPACE
