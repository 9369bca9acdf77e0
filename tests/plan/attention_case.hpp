// A small graph whose attention is planned and proved.
#pragma once

#include "catena_test/attention_graph.hpp"

#include "catena/match/ggml_cuda.hpp"

#include "cases.hpp"
#include "random/tables.hpp"

#include <algorithm>
#include <initializer_list>

namespace catena_test {

struct attention_case : attention_graph {
    using attention_graph::attention_graph;

    catena::plan planned(const catena::options& asked = {}) {
        return proved_plan(g, shipped_table(), asked);
    }
    std::int32_t step(const catena::plan& p) const { return p.at(g.position(attention)).step; }
    const catena::step& step_of_reader(const catena::plan& p) const {
        return p.steps()[static_cast<std::size_t>(p.at(g.position(reader)).step)];
    }
    catena::heads_args args(const catena::plan& p) const { return p.args(step(p), nullptr).heads; }
};

/// Has the step that attends all of these?
inline bool covers(attention_case& c, const catena::plan& p, std::initializer_list<id> of) {
    return c.step(p) >= 0 && std::all_of(of.begin(), of.end(), [&](id t) {
               return p.at(c.g.position(t)).step == c.step(p);
           });
}

/// The time that an engine's own attention must take, in us, for a launch to take it.
inline double needed_us(attention_case c) {
    catena::engine_model engine = catena::ggml_cuda;
    catena::graph_view view = c.g.view();
    view.engine = &engine;
    double less = 0.01, enough = 100;
    while (enough - less > 0.01) {
        const double us = (less + enough) / 2;
        engine.attention_us = engine.attention_of_few_us = us;
        (c.step(catena::planner{shipped_table()}.plan(view)) < 0 ? less : enough) = us;
    }
    return enough;
}

}  // namespace catena_test
