// A small graph whose attention is planned and proved.
#pragma once

#include "catena_test/attention_graph.hpp"

#include "cases.hpp"
#include "random/tables.hpp"

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

}  // namespace catena_test
