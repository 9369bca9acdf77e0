// The small graph files of tests/data/run: cases that a run once got wrong, and a MOE_FFN.
#include "catena/plan/explain.hpp"
#include "catena/plan/step.hpp"

#include "run/check.hpp"

#include "catena_test/catch.hpp"
#include "tables.hpp"
#include "written_out.hpp"

#include <string>
#include <vector>

using namespace catena;
using namespace catena::tool;

namespace {

struct run_of_file {
    json::graph graph;
    std::unique_ptr<machine> on = host_machine(1);
    tool::placement where;
    plan planned;
    std::vector<step_result> results;

    explicit run_of_file(const std::string& name, const check_options& asked = {})
        : graph(in_nodes(json::read(CATENA_TEST_DATA "/run/" + name), table_for("sm_90"))),
          where(graph, *on),
          planned(planner{on->equip(table_for("sm_90"))}.plan(where.view())) {
        REQUIRE(planned.state().ok());
        checker check{planned, where, *on, asked};
        for (std::size_t i = 0; i < planned.steps().size(); ++i)
            results.push_back(check.run(static_cast<int>(i)));
    }

    void agrees() const {
        for (const step_result& r : results) {
            INFO(r.fault);
            CHECK(r.ok());
            CHECK(r.computed > 0);
            CHECK_FALSE(r.comparisons.empty());
        }
    }
};

}  // namespace

TEST_CASE("the sampled tiles of a prompt are those that its clusters compute", "[run]") {
    const run_of_file r("prompt.json");
    REQUIRE(r.results.size() == 2);
    CHECK(r.planned.steps()[1].config.cluster > 1);
    r.agrees();
    const run_of_file less("prompt.json", {.random_rows = 0});  // and no random tile
    less.agrees();
    CHECK(less.results[1].computed == r.results[1].computed * 2 / 3);
}

TEST_CASE("a matmul that quantizes heads where they lie reads what the engine made", "[run]") {
    const run_of_file r("mla.json");
    REQUIRE(r.results.size() == 3);
    const step& output = r.planned.steps()[2];
    CHECK(quantizes_inside(output.what));
    CHECK(r.planned.covered(output).size() == 2);  // the CONT, too
    r.agrees();
}

TEST_CASE("a MOE_FFN runs as the nodes that it stands for", "[run]") {
    const run_of_file r("moe_ffn.json");
    REQUIRE(r.results.size() == 3);
    CHECK(routes(r.planned.steps()[1].what.product()));
    CHECK(r.graph.nodes.size() == 4 + 23);
    CHECK(r.planned.explain().engine_launches == 0);
    r.agrees();
}
