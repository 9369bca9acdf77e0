// What tests of `catena run` share: a graph that a test builds, as if a file had it, and launches
// with damage before or behind them.
#pragma once

#include "catena/engine/json.hpp"
#include "catena/exec/host/launch.hpp"
#include "catena/plan/step.hpp"

#include "catena_test/catch.hpp"
#include "catena_test/graph_builder.hpp"

#include "run/check.hpp"
#include "tables.hpp"

#include <cstddef>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

namespace catena_test {

/// The graph as one that was read from a file: without addresses.
inline catena::json::graph as_file(graph_builder& b, const char* name) {
    const catena::graph_view view = b.view();  // counts the uses
    catena::json::graph g;
    g.file = g.model = name;
    g.tensors = b.tensors;
    g.nodes = b.nodes;
    for (catena::tensor& t : g.tensors) t.data = nullptr;
    REQUIRE(view.size() == static_cast<int>(g.nodes.size()));
    return g;
}

/// "f32", "state", "f32 state": what a run found wrong; "fault": the launch did not end.
inline std::string wrong_in(const catena::tool::step_result& r) {
    std::string all = r.fault.empty() ? "" : "fault";
    for (const catena::tool::comparison& c : r.comparisons)
        if (!c.ok()) all += (all.empty() ? "" : " ") + c.of;
    return all;
}

template <class Args>
using change = std::function<void(Args&)>;

/// Launches on the host. `before` may change the arguments of a launch that has Args, and `behind`
/// what they point to. There is one pair for all tables: those of the last.
template <class Args>
struct changed_launch {
    static inline change<Args> before, behind;

    static catena::status launch(const void* kernel, const catena::launch_config& c,
                                 const void* args, std::size_t bytes, void* stream) noexcept {
        Args a;
        if (bytes != sizeof a) return catena::launch_host(kernel, c, args, bytes, stream);
        std::memcpy(&a, args, sizeof a);
        if (before) before(a);
        const catena::status s = catena::launch_host(kernel, c, &a, bytes, stream);
        if (behind) behind(a);
        return s;
    }
    /// A table that launches so.
    static catena::table table(catena::table t, const change<Args>& change_before,
                               const change<Args>& change_behind = {}) {
        before = change_before, behind = change_behind;
        t.launch = launch;
        return t;
    }
};

/// What the steps of a graph are found to be, launched on the host. The first has `nodes` nodes.
template <class Args>
std::vector<catena::tool::step_result> run_steps(const catena::json::graph& g, int nodes,
                                                 const change<Args>& before,
                                                 const change<Args>& behind) {
    using namespace catena::tool;
    const auto on = host_machine(1);
    const placement where{g, *on};
    const catena::table t =
        changed_launch<Args>::table(on->equip(table_for("sm_90")), before, behind);
    const catena::plan p = catena::planner{t}.plan(where.view());
    REQUIRE(p.state().ok());
    REQUIRE(p.steps().size() > 0);
    CHECK(p.steps()[0].node_count == nodes);
    checker check{p, where, *on, {}};
    std::vector<step_result> all;
    for (const catena::step& s : p.steps())
        all.push_back(check.run(static_cast<int>(&s - p.steps().begin())));
    return all;
}

/// What the only step of a graph is found to be.
template <class Args>
catena::tool::step_result run_only_step(const catena::json::graph& g, int nodes,
                                        const change<Args>& before, const change<Args>& behind) {
    const auto all = run_steps(g, nodes, before, behind);
    REQUIRE(all.size() == 1);
    return all[0];
}

}  // namespace catena_test
