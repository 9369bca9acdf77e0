// Graphs that many planner tests start from.
#pragma once

#include "catena/plan/optimize.hpp"
#include "catena/plan/step.hpp"
#include "catena/plan/verify.hpp"

#include "replay.hpp"

#include "catena_test/catch.hpp"
#include "catena_test/graph_builder.hpp"
#include "catena_test/invented.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace catena_test {

/// A plan of the whole graph by these rows that was held against the replay.
inline catena::plan checked_plan(graph_builder& g, const catena::table& rows,
                                 const catena::options& asked = {}) {
    const catena::graph_view view = g.view();
    catena::plan plan = catena::planner(rows, asked).plan(view);
    CHECK(plan.state().ok());
    CHECK(inconsistency(view, plan) == "");
    CHECK(difference(view, plan) == "");
    return plan;
}
inline catena::plan checked_plan(graph_builder& g, const catena::options& asked = {}) {
    return checked_plan(g, toy_table(), asked);
}

/// Such a plan that is proved right, too.
inline catena::plan proved_plan(graph_builder& g, const catena::table& rows,
                                const catena::options& asked = {}) {
    catena::plan plan = checked_plan(g, rows, asked);
    const catena::verification found = catena::verify(g.view(), plan);
    CHECK(found.state.message == std::string());
    CHECK(found.proved);
    return plan;
}

/// The position until which an order keeps a tensor, or a view of it; -1: it does not.
inline std::int32_t kept_until(graph_builder& g, const catena::ordering& order, id t) {
    std::int32_t until = -1;
    for (const catena::keep_alive& k : order.keep)
        if (k.tensor == t || g[k.tensor].view_src == t) until = std::max(until, k.until);
    return until;
}

/// "0: 0 1, 2: 2 5" : launch position and covered nodes of every step.
inline std::string steps_of(const catena::plan& plan) {
    std::string out;
    for (const catena::step& s : plan.steps()) {
        if (!out.empty()) out += ", ";
        out += std::to_string(s.launch_at) + ":";
        for (const std::int32_t n : plan.covered(s)) out.append(" ").append(std::to_string(n));
    }
    return out;
}

/// Why node `position` was left, or reason::none.
inline catena::reason left_why(const catena::plan& plan, int position) {
    for (const catena::left_over& l : plan.left())
        if (l.what.node == position) return l.what.why;
    return catena::reason::none;
}

/// x -> norm -> MUL, as nodes 0 and 1.
struct norm_case {
    graph_builder g;
    id x = g.input(format::f32, {512});
    id norm = g.rms_norm(x);
    id mul = g.mul(norm, g.weight(format::f32, {512}));
};

}  // namespace catena_test
