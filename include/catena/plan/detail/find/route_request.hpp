// From a routing that was found to what is asked of the table and what is handed to the kernel.
#pragma once

#include "catena/plan/detail/find/request.hpp"
#include "catena/plan/detail/order/trial.hpp"

#include <cstdint>
#include <utility>

namespace CATENA_NAMESPACE {

/// What the row step of a routing must compute.
inline row_problem problem_of(const routing& r) {
    const routing_numbers& n = r.numbers;
    row_problem p;
    p.needs.stages = stage_set::of(stage_kind::choose);
    if (n.score != scoring::none) p.needs.stages = p.needs.stages | stage_kind::score;
    if (n.soft_max_chosen || n.normalized || n.scale != 1)
        p.needs.stages = p.needs.stages | stage_kind::weigh;
    p.needs.emits = format_set::of(format::f32);
    p.k = r.experts;
    p.rows = r.tokens;
    p.slots = n.chosen;
    p.alignment = 4;
    return p;
}

/// A routing as a plan reports it: by the weights.
inline match routed_match(const graph_view& view, routing&& r) {
    match m;
    m.stages = problem_of(r).needs.stages;
    m.node = r.weigh;
    m.activation = view.nodes[r.weigh];
    m.stream = view.node(r.weigh).stream;
    m.f32_needed = true;
    m.routed = std::move(r);
    return m;
}

inline route_args route_arguments(const graph_view& view, const routing& r, addresses& at) {
    route_args a;
    a.x = at.floats(r.x);
    a.bias = at.floats(r.bias);
    a.ids = reinterpret_cast<std::int32_t*>(at.of(view.nodes[r.sort]));
    a.weights = at.floats(view.nodes[r.weigh]);
    a.x_nb = view.at(r.x).nb[1];
    a.ids_nb = 4 * r.experts;
    a.weights_nb = 4 * std::int64_t{r.numbers.chosen};
    a.numbers = r.numbers;
    a.experts = static_cast<std::int32_t>(r.experts);
    a.tokens = static_cast<std::int32_t>(r.tokens);
    return a;
}

/// Lets a step cover the nodes of a routing. The block of a token reads all before it writes.
inline void cover_routing(const graph_index& g, const routing& r, trial_step& trial) {
    for (const std::int32_t n : r.nodes)
        trial.nodes.push_back({n, !r.writes(n), fed_by(g, n, r.nodes), 0});
    trial.at_once = r.tokens == 1;
}

}  // namespace CATENA_NAMESPACE
