// Steps that round a value for float weights of 16 bits are run and compared, as the matmuls that
// read it: here a value that no step of a chain makes.
#include "catena/plan/step.hpp"

#include "run/check.hpp"

#include "catena_test/catch.hpp"
#include "tables.hpp"

#include <nlohmann/json.hpp>

#include <string>

using namespace catena;
using namespace catena::tool;

namespace {

/// Four matrices of 4096 x 512 that read an input of 256 columns.
json::graph prompt_of(const std::string& type) {
    auto tensors = nlohmann::json::array();
    std::int64_t end = 0;
    const auto add = [&](const std::string& of, std::int64_t k, std::int64_t rows) -> auto& {
        const std::int64_t row = (of == "f32" ? 4 : 2) * k;
        tensors.push_back({{"id", tensors.size()},
                           {"name", "t" + std::to_string(tensors.size())},
                           {"op", "NONE"},
                           {"sub", ""},
                           {"type", of},
                           {"ne", {k, rows, 1, 1}},
                           {"nb", {row / k, row, row * rows, row * rows}},
                           {"src", nlohmann::json::array()},
                           {"view_src", nullptr},
                           {"view_offs", 0},
                           {"params", nlohmann::json::array()},
                           {"flags", 16},
                           {"weight", false},
                           {"buf", 0},
                           {"off", end}});
        end += row * rows;
        return tensors.back();
    };
    add("f32", 512, 256);
    auto nodes = nlohmann::json::array();
    for (int i = 0; i < 4; ++i) {
        add(type, 512, 4096)["weight"] = true;
        auto& product = add("f32", 4096, 256);
        product["op"] = "MUL_MAT";
        product["src"] = {product["id"].get<int>() - 1, 0};
        nodes.push_back(product["id"]);
    }
    const nlohmann::json graph = {
        {"model", "float weights"}, {"arch", "none"}, {"source", "test"},   {"case", "pp256"},
        {"flash_attn", true},       {"quant", type},  {"tensors", tensors}, {"nodes", nodes}};
    return json::parse(graph.dump(), type + ".json");
}

}  // namespace

TEST_CASE("what is rounded for weights of 16 bits agrees with the reference, and their products",
          "[run]") {
    for (const char* type : {"f16", "bf16"}) {
        INFO(type);
        const json::graph g = prompt_of(type);
        const auto on = host_machine(1);
        const tool::placement where{g, *on};
        const plan p = planner{on->equip(table_for("sm_90"))}.plan(where.view());
        REQUIRE(p.state().ok());
        REQUIRE(p.steps().size() == 2);
        CHECK(in_mma_blocks(p.steps()[1].what.product().needs.activation));
        checker check{p, where, *on, {}};
        for (int step = 0; step < 2; ++step) {
            const step_result r = check.run(step);
            INFO(r.fault);
            CHECK(r.ok());
            CHECK(r.comparisons.size() == 2);
        }
    }
}
