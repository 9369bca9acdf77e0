// What planning costs, on one core, no GPU: planner GRAPH.json.gz...
// index: reading the view; plan: from the indexed view; replan: recognizing an unchanged graph by
// its fingerprint; known: by the engine's id of it; verify: proving the plan right.
#include "catena/engine/json.hpp"
#include "catena/instances/sm_90.hpp"
#include "catena/match/detail/index.hpp"
#include "catena/plan/verify.hpp"
#include "catena/runtime.hpp"

#include <benchmark/benchmark.h>

#include <cstdio>
#include <exception>
#include <filesystem>
#include <string>

namespace {

using namespace catena;

/// A planner as in a release build, whatever this build is.
planner unverified() {
    options asked;
    asked.verify = false;
    return planner{instances::sm_90(), asked};
}

void index_view(benchmark::State& state, const json::graph& graph) {
    for (auto _ : state) {
        graph_index index;
        benchmark::DoNotOptimize(index.build(graph.view()).ok());
    }
}

void plan_indexed(benchmark::State& state, const json::graph& graph) {
    const planner plans = unverified();
    graph_index index;
    if (!index.build(graph.view()).ok()) state.SkipWithError("the view is malformed");
    for (auto _ : state) benchmark::DoNotOptimize(plans.plan_indexed(index).size());
}

void order(benchmark::State& state, const json::graph& graph) {
    for (auto _ : state) benchmark::DoNotOptimize(optimize(graph.view()).order.size());
}

void replan(benchmark::State& state, const json::graph& graph) {
    plan_cache cache{unverified()};
    for (auto _ : state) benchmark::DoNotOptimize(cache.plan_for(graph.view()).size());
}

void known(benchmark::State& state, const json::graph& graph) {
    plan_cache cache{unverified()};
    for (auto _ : state) benchmark::DoNotOptimize(cache.plan_for(graph.view(), 1).size());
}

void prove(benchmark::State& state, const json::graph& graph) {
    const std::vector<tensor> tensors = with_addresses(graph.view());
    graph_view view = graph.view();
    view.tensors = tensors.data();
    const plan made = unverified().plan(view);
    for (auto _ : state)
        if (!verify(view, made).proved) state.SkipWithError("the plan is not proved");
}

}  // namespace

int main(int argc, char** argv) try {
    benchmark::Initialize(&argc, argv);
    if (argc < 2) {
        std::fprintf(stderr, "planner: name one or more graph files (docs/graph-format.md)\n");
        return 2;
    }
    std::vector<json::graph> graphs;
    graphs.reserve(static_cast<std::size_t>(argc));
    for (int i = 1; i < argc; ++i) {
        graphs.push_back(json::read(argv[i]));
        const json::graph& g = graphs.back();
        const std::string name = std::filesystem::path(argv[i]).filename().string() + " (" +
                                 std::to_string(g.view().node_count) + " nodes)/";
        const auto add = [&](const char* what, auto run) {
            benchmark::RegisterBenchmark((name + what).c_str(), run, std::cref(g))
                ->Unit(benchmark::kMicrosecond);
        };
        add("index", index_view);
        add("plan", plan_indexed);
        add("optimize", order);
        add("replan", replan);
        add("known", known);
        add("verify", prove);
    }
    benchmark::RunSpecifiedBenchmarks();
    return 0;
} catch (const std::exception& error) {
    std::fprintf(stderr, "planner: %s\n", error.what());
    return 2;
}
