// Layers are found by what repeats, whatever the tensors are called.
#include "layers.hpp"

#include "catena_test/catch.hpp"
#include "given.hpp"
#include "report.hpp"
#include "small_graph.hpp"
#include "tables.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>

using namespace catena;
using namespace catena::tool;

namespace {

std::vector<layer> layers_of(const json::graph& g) {
    const report r = make_report(g, table_for("sm_90"));
    return find_layers(g.view(), r.plan, r.done.not_fused);
}

/// How often each kind of layer repeats, most often first; a layer with inserted nodes counts as
/// its model.
std::vector<int> repeats(const std::vector<layer>& layers) {
    std::map<int, int> count;
    for (const layer& l : layers)
        if (l.repeats) ++count[l.like >= 0 ? l.like : l.kind];
    std::vector<int> out;
    for (const auto& [kind, n] : count) out.push_back(n);
    std::sort(out.rbegin(), out.rend());
    return out;
}

}  // namespace

TEST_CASE("the layers of real models are found", "[layers][graphs]") {
    const std::pair<const char*, std::vector<int>> models[] = {
        {"qwen3.6-35b-a3b-q4km.tg1", {30, 10}},
        {"qwen3.6-35b-a3b-q4km.b4", {30, 10}},
        {"qwen3-30b-a3b-q4km.tg1", {48}},
        {"qwen3-8b-q4km.pp512", {36}},
        {"llama-3.2-3b-q4km.tg1", {28}},
        {"llama-3.1-8b-q8_0.b4", {32}},
        {"gemma-3-4b-q4km.tg1", {34}},
        {"gpt-oss-20b-mxfp4.tg1", {24}},
        {"phi-4-q4km.tg1", {40}},
        {"olmo2-7b-q4km.pp512", {32}}};
    for (const auto& [name, expected] : models) {
        INFO(name);
        CHECK(repeats(layers_of(given(name))) == expected);
    }
}

TEST_CASE("layers cover every node once, in order", "[layers][graphs]") {
    for (const auto& entry : std::filesystem::directory_iterator(CATENA_TEST_DATA "/graphs")) {
        if (entry.path().extension() != ".gz") continue;
        const json::graph g = json::read(entry.path().string());
        INFO(g.file);
        std::int32_t next = 0;
        for (const layer& l : layers_of(g)) {
            CHECK(l.first == next);
            CHECK(l.first < l.last);
            next = l.last;
        }
        CHECK(next == g.view().size());
    }
}

TEST_CASE("names play no part", "[layers][graphs]") {
    json::graph g = given("llama-3.2-3b-q4km.tg1");
    const std::vector<layer> before = layers_of(g);
    for (tensor& t : g.tensors) t.name = "x";
    const std::vector<layer> after = layers_of(g);
    REQUIRE(before.size() == after.size());
    for (std::size_t i = 0; i < before.size(); ++i) {
        CHECK(before[i].first == after[i].first);
        CHECK(before[i].kind == after[i].kind);
        CHECK(before[i].variant == after[i].variant);
    }
}

TEST_CASE("layers of one variant have the same formats, steps and reasons", "[layers][graphs]") {
    const json::graph g = given("llama-3.2-3b-q4km.tg1");
    const report r = make_report(g, table_for("sm_90"));
    std::map<std::pair<int, int>, std::string> said;
    for (const layer& l : find_layers(g.view(), r.plan, r.done.not_fused)) {
        std::string all;
        for (const explained_step& s : r.plan.steps) {
            if (s.launch_at < l.first || s.launch_at >= l.last) continue;
            all += s.instance + " at " + std::to_string(s.launch_at - l.first) + ",";
            for (const std::int32_t n : s.nodes) all += std::to_string(n - l.first) + " ";
        }
        for (const left_node& n : r.done.not_fused)
            if (l.first <= n.node && n.node < l.last) all += name(n.why);
        const auto [at, is_new] = said.emplace(std::pair{l.kind, l.variant}, all);
        CHECK(at->second == all);
    }
    CHECK(said.size() > 3);
}

TEST_CASE("a graph in which nothing repeats is one layer", "[layers]") {
    const json::graph g = json::parse(catena_test::small_graph().dump(), "small.json");
    const std::vector<layer> layers = layers_of(g);
    REQUIRE(layers.size() == 1);
    CHECK(layers[0].last == g.view().size());
    CHECK_FALSE(layers[0].repeats);
}
