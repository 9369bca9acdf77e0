// A routing becomes one step, if an engine needs more launches for it.
#pragma once

#include "catena/match/detail/route_finder.hpp"
#include "catena/match/ggml_cuda.hpp"
#include "catena/plan/detail/draft/attempt.hpp"
#include "catena/plan/detail/find/choices.hpp"
#include "catena/plan/detail/find/premises.hpp"
#include "catena/plan/detail/find/route_request.hpp"

#include <cstdint>
#include <unordered_set>
#include <utility>

namespace CATENA_NAMESPACE {

class route_planner {
  public:
    route_planner(draft& drafted, const premises& known, choices& rows)
        : g_(drafted.g), draft_(drafted), known_(known), rows_(rows), find_(g_) {}

    /// Tries the routing whose scores a node makes, if experts are sorted by what it makes.
    void plan_behind(std::int32_t node) {
        if (known_.routing < 0) return;
        for (const use& u : g_.readers(g_.root(g_.view.nodes[node]))) {
            if (g_.kind(u.node) == op::argsort) plan(u.node);
            if (g_.kind(u.node) != op::add) continue;
            for (const use& behind : g_.readers(g_.root(g_.view.nodes[u.node])))
                if (g_.kind(behind.node) == op::argsort) plan(behind.node);
        }
    }

    /// Tries the routing that an ARGSORT belongs to, once.
    void plan(std::int32_t sort) {
        if (known_.routing < 0 || draft_.covered(sort) || !tried_.insert(sort).second) return;
        const auto open = [this](std::int32_t i) { return !draft_.covered(i); };
        routing found = find_.around(sort, open);
        rejection nearest;
        obstacle why = found.why.found() ? found.why : step(std::move(found), nearest);
        if (!why.found() || why.why == reason::taken) return;
        why.node = sort;
        draft_.leave(why, nearest);
    }

  private:
    const graph_index& g_;
    draft& draft_;
    const premises& known_;
    choices& rows_;
    const route_finder find_;
    std::unordered_set<std::int32_t> tried_;

    obstacle step(routing&& r, rejection& nearest) {
        if (engine_of(g_.view).routing_launches(g_, r) < 2) return {r.sort, reason::one_launch};
        attempt tried(draft_, false);
        const row_problem what = problem_of(r);
        tried.step().what = what;
        tried.step().chain = static_cast<std::int32_t>(draft_.activations.size());
        const picked& row = rows_.pick(what);
        nearest = row.nearest;
        if (row.row < 0) return {r.sort, reason::no_row};
        run_by(tried.step(), row);
        cover_routing(g_, r, tried.trial());
        if (const std::int32_t v = tried.find_place(); v >= 0) return {r.sort, reason::overlap, v};
        const std::int32_t maker = tried.accept();
        draft_.add_activation(known_.routing, routed_match(g_.view, std::move(r)), maker);
        return {};
    }
};

}  // namespace CATENA_NAMESPACE
