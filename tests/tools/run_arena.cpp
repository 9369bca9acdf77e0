// Runs of graphs whose weights and results lie in one buffer: what may be read early, and what may
// not.
#include "catena/plan/step.hpp"

#include "run/check.hpp"

#include "catena_test/catch.hpp"
#include "small_graph.hpp"
#include "tables.hpp"

#include <nlohmann/json.hpp>

#include <memory>
#include <utility>
#include <vector>

using namespace catena;
using namespace catena::tool;

namespace {

/// The small graph in one buffer; its weights, tensors 1 and 2, lie between x and the results.
nlohmann::json arena() {
    nlohmann::json g = catena_test::small_graph();
    for (nlohmann::json& t : g["tensors"]) t["buf"] = 0;
    return g;
}

json::graph parsed(const nlohmann::json& g) { return json::parse(g.dump(), "arena.json"); }

std::vector<step_result> results_of(const nlohmann::json& text) {
    const json::graph g = parsed(text);
    const auto on = host_machine(1);
    const tool::placement where{g, *on};
    const plan p = planner{on->equip(table_for("sm_90"))}.plan(where.view());
    REQUIRE(p.steps().size() == 2);
    checker check{p, where, *on, {}};
    std::vector<step_result> all;
    for (int i = 0; i < 2; ++i) all.push_back(check.run(i));
    return all;
}

using ranges = std::vector<std::pair<std::size_t, std::size_t>>;

ranges weights_of(const nlohmann::json& g) {
    ranges all;
    for (const byte_range& r : weight_ranges(parsed(g), 0)) all.emplace_back(r.begin, r.end);
    return all;
}

}  // namespace

TEST_CASE("weights that share a buffer with results may be read early", "[run]") {
    for (const step_result& r : results_of(arena())) {
        INFO(r.fault);
        CHECK(r.ok());
    }
}

TEST_CASE("a weight on whose bytes the engine writes may not", "[run]") {
    nlohmann::json g = arena();
    g["tensors"][0]["off"] = g["tensors"][2]["off"].get<int>() + 16 * 288;  // x over 14 rows
    const auto all = results_of(g);
    CHECK(all[0].ok());
    CHECK_THAT(all[1].fault,
               Catch::Contains("before grid_wait") && Catch::Contains("Kernel: matvec.q4_K"));
}

TEST_CASE("the parts of a buffer that hold weights end where something is written", "[run]") {
    nlohmann::json g = arena();
    constexpr std::size_t at = 65536, matrix = 18432;
    CHECK(weights_of(g) == ranges{{at, 2 * at + matrix}});
    const auto copy = [&g](int like, std::size_t off, bool weight) {
        nlohmann::json t = g["tensors"][like];
        t["id"] = g["tensors"].size();
        t["off"] = off;
        t["weight"] = weight;
        g["tensors"].push_back(t);
    };
    copy(1, 2 * at - 4096, false);  // 2048 bytes between the weights
    CHECK(weights_of(g) == ranges{{at, at + 2048}, {2 * at, 2 * at + matrix}});
    copy(1, 2 * at + 1024, false);  // within a weight
    CHECK(weights_of(g) ==
          ranges{{at, at + 2048}, {2 * at, 2 * at + 1024}, {2 * at + 3072, 2 * at + matrix}});
    copy(0, 2 * at + matrix - 1024, false);  // over its end
    copy(0, at - 4096, false);               // up to the begin of one
    CHECK(weights_of(g) == ranges{{at, at + 2048},
                                  {2 * at, 2 * at + 1024},
                                  {2 * at + 3072, 2 * at + matrix - 1024}});
    CHECK(weight_ranges(parsed(g), 1).empty());
}
