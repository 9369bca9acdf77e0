// Runs of graphs that engines build and the small graph is not: names of weights, routers, rows
// that end inside a block.
#include "catena/plan/step.hpp"

#include "run/check.hpp"

#include "catena_test/catch.hpp"
#include "small_graph.hpp"
#include "tables.hpp"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>
#include <vector>

using namespace catena;
using namespace catena::tool;

namespace {

/// Another tensor like number `like`; a node if it has sources.
nlohmann::json& add(nlohmann::json& graph, int like, const char* op, const char* type,
                    std::vector<long> ne, std::vector<long> nb, std::vector<int> src) {
    nlohmann::json& tensors = graph["tensors"];
    nlohmann::json t = tensors[static_cast<std::size_t>(like)];
    const auto id = tensors.size();
    t["id"] = id;
    t["op"] = op;
    t["type"] = type;
    t["ne"] = std::move(ne);
    t["nb"] = std::move(nb);
    t["src"] = src;
    t["view_src"] = nullptr;
    t["view_offs"] = 0;
    t["off"] = 65536 * id;
    if (!src.empty()) graph["nodes"].push_back(id);
    tensors.push_back(std::move(t));
    return tensors.back();
}

/// Every step must agree with its reference. Their number.
std::size_t steps_that_agree(const nlohmann::json& text, std::uint64_t seed = 1) {
    const catena::json::graph g = catena::json::parse(text.dump(), "g.json");
    const auto on = host_machine(seed);
    const placement where{g, *on};
    const plan p = planner{on->equip(table_for("sm_90"))}.plan(where.view());
    REQUIRE(p.state().ok());
    checker check{p, where, *on, {seed, 64}};
    for (std::size_t i = 0; i < p.steps().size(); ++i) {
        const step_result r = check.run(static_cast<int>(i));
        INFO("seed " << seed << ", step " << i << ": " << r.fault);
        CHECK(r.ok());
        CHECK_FALSE(r.comparisons.empty());
    }
    return p.steps().size();
}

}  // namespace

TEST_CASE("a reshaped weight leaves its buffer one of weights", "[run]") {
    nlohmann::json g = catena_test::small_graph();
    nlohmann::json& name =
        add(g, 7, "RESHAPE", "q4_K", {512, 32, 2, 1}, {144, 288, 9216, 18432}, {2});
    name["view_src"] = 2;
    name["buf"] = 0;
    name["off"] = g["tensors"][2]["off"];
    CHECK(steps_that_agree(g) == 2);
}

TEST_CASE("float weights and quantized matrices read one value of the engine", "[run]") {
    nlohmann::json g = catena_test::small_graph();
    add(g, 1, "NONE", "f32", {32, 8, 1, 1}, {4, 128, 1024, 1024}, {});
    add(g, 2, "NONE", "q8_0", {32, 64, 1, 1}, {34, 34, 2176, 2176}, {});
    add(g, 6, "MUL_MAT", "f32", {8, 2, 1, 1}, {4, 32, 64, 64}, {9, 8});
    add(g, 6, "MUL_MAT", "f32", {64, 2, 1, 1}, {4, 256, 512, 512}, {10, 8});
    CHECK(steps_that_agree(g) == 5);
}

TEST_CASE("a prompt's rows may end inside a block of 128", "[run]") {
    nlohmann::json g = catena_test::small_graph();
    nlohmann::json& t = g["tensors"];
    for (const int i : {0, 3, 4, 5}) {
        t[i]["ne"] = {160, 9, 1, 1};
        t[i]["nb"] = {4, 640, 5760, 5760};
    }
    t[1]["ne"] = {160, 1, 1, 1};
    t[1]["nb"] = {4, 640, 640, 640};
    t[2]["type"] = "q8_0";
    t[2]["ne"] = {160, 64, 1, 1};
    t[2]["nb"] = {34, 170, 10880, 10880};
    t[6]["ne"] = {64, 9, 1, 1};
    t[6]["nb"] = {4, 256, 2304, 2304};
    t[7]["ne"] = t[8]["ne"] = {32, 9, 1, 1};
    t[7]["nb"] = {4, 256, 2304, 2304};
    t[8]["nb"] = {4, 128, 1152, 1152};
    CHECK(steps_that_agree(g) == 2);
}

TEST_CASE("a few results that nearly cancel are no errors of what quantizes", "[run]") {
    nlohmann::json g = catena_test::small_graph();
    add(g, 2, "NONE", "q8_0", {32, 1, 1, 1}, {34, 34, 34, 34}, {});
    add(g, 6, "MUL_MAT", "f32", {1, 2, 1, 1}, {4, 4, 8, 8}, {9, 8});
    for (std::uint64_t seed = 1; seed <= 100; ++seed) steps_that_agree(g, seed);
}
