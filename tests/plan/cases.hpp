// Graphs that many planner tests start from.
#pragma once

#include "catena/plan/step.hpp"

#include "replay.hpp"

#include "catena_test/catch.hpp"
#include "catena_test/graph_builder.hpp"
#include "catena_test/invented.hpp"

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
