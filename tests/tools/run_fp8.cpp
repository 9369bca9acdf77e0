// Steps of fp8 weights are run and compared, too: with f32 for few columns, with fp8 for many,
// whatever their scales belong to.
#include "run/check.hpp"

#include "catena/kernel/args.hpp"
#include "catena/plan/step.hpp"

#include "run_parts.hpp"
#include "small_graph.hpp"
#include "tables.hpp"

#include <nlohmann/json.hpp>

#include <vector>

using namespace catena;
using namespace catena::tool;
using namespace catena_test;

namespace {

/// The small graph with fp8 weights, their scales of this shape, and so many columns.
json::graph small_fp8(std::int64_t across, std::int64_t down, std::int64_t columns) {
    auto text = catena_test::small_graph();
    auto& t = text["tensors"];
    t[2]["type"] = "fp8_e4m3";
    t[2]["nb"] = {1, 512, 32768, 32768};
    for (const int i : {0, 3, 4, 5, 6, 7, 8}) {
        t[i]["ne"][1] = columns;
        const std::int64_t bytes = t[i]["nb"][1].get<std::int64_t>() * columns;
        t[i]["nb"][2] = t[i]["nb"][3] = bytes;
    }
    auto scales = t[1];
    scales["id"] = 9;
    scales["ne"] = {across, down, 1, 1};
    scales["nb"] = {4, 4 * across, 4 * across * down, 4 * across * down};
    scales["off"] = 9 * 65536;
    t.push_back(scales);
    t[6]["src"] = {2, 5, 9};
    return json::parse(text.dump(), "fp8.json");
}

std::vector<step_result> results_of(const json::graph& g, const change<matmul_args>& before = {}) {
    const auto on = host_machine(1);
    const tool::placement where{g, *on};
    const table t = changed_launch<matmul_args>::table(on->equip(table_for("sm_90")), before);
    const plan p = planner{t}.plan(where.view());
    REQUIRE(p.state().ok());
    checker check{p, where, *on, {}};
    std::vector<step_result> all;
    for (std::size_t i = 0; i < p.steps().size(); ++i)
        all.push_back(check.run(static_cast<int>(i)));
    return all;
}

}  // namespace

TEST_CASE("every step of a graph with fp8 weights agrees with the reference", "[run]") {
    for (const auto& [across, down] : {std::pair{1, 1}, std::pair{1, 64}, std::pair{4, 1}})
        for (const int columns : {2, 9, 33}) {
            INFO(across << " x " << down << " scales, " << columns << " columns");
            const auto all = results_of(small_fp8(across, down, columns));
            REQUIRE(all.size() == 2);
            for (const step_result& r : all) {
                INFO(r.fault);
                CHECK(r.ok());
            }
            CHECK(all[0].comparisons.back().of == (columns == 2 ? "f32" : "fp8_group"));
            REQUIRE(all[1].comparisons.size() == 2);
            CHECK(all[1].comparisons[0].of == "product, same activation");
        }
}

TEST_CASE("a matmul of fp8 that does not scale is found", "[run]") {
    const auto all =
        results_of(small_fp8(1, 64, 9), [](matmul_args& a) { a.member[0].weight_scale = nullptr; });
    CHECK(all[1].fault == "");
    CHECK_FALSE(all[1].ok());
}
