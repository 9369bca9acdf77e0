// How many steps of real graphs start before the kernel before them is done, where the engine
// launches programmatically too.
#include "catena/engine/json.hpp"
#include "catena/instances/sm_90.hpp"
#include "catena/match/ggml_cuda.hpp"
#include "catena/plan/counters.hpp"
#include "catena/plan/planner.hpp"
#include "catena/plan/step.hpp"
#include "catena/plan/verify.hpp"

#include "catena_test/catch.hpp"

#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>

using namespace catena;

namespace {

/// The proved plan of a graph as llama.cpp gets it, with a ggml-cuda of that version.
plan plan_in_llama(const json::graph& file, std::string_view version) {
    graph_view view = file.view();
    const std::vector<tensor> tensors = with_addresses(view);
    view.tensors = tensors.data();
    options asked;
    asked.verify = true;
    asked.engine_may_skip_wait = true;
    asked.engine_version = version;
    plan p = planner(instances::sm_90(), asked).plan(view);
    REQUIRE(p.state().ok());
    REQUIRE(p.counters().proved);
    return p;
}

/// The steps that start when all before them is done.
std::int64_t late(const plan& p) {
    return std::count_if(p.steps().begin(), p.steps().end(),
                         [](const step& s) { return !s.config.dependent; });
}

}  // namespace

TEST_CASE(
    "In llama.cpp all steps of the given graphs start early but the first and those behind "
    "experts of a prompt",
    "[early]") {
    std::int64_t steps = 0, before = 0, now = 0;
    for (const auto& entry : std::filesystem::directory_iterator(CATENA_TEST_DATA "/graphs")) {
        if (entry.path().extension() != ".gz") continue;
        CAPTURE(entry.path().filename());
        const json::graph file = json::read(entry.path().string());
        const plan p = plan_in_llama(file, ggml_cuda_version);
        std::int64_t experts = 0;  // runs of them that stay with the engine
        bool in_run = false;
        for (std::int32_t i = 0; i < p.size(); ++i) {
            const bool left =
                p.at(i).role == role::engine && file.view().node(i).kind == op::mul_mat_id;
            experts += left && !in_run;
            in_run = left || (in_run && p.steps_at(i).size() == 0);
        }
        CHECK(late(p) == 1 + experts);
        steps += static_cast<std::int64_t>(p.steps().size());
        before += late(plan_in_llama(file, "a version that nobody has read"));
        now += late(p);
    }
    CHECK(steps - before < steps * 4 / 5);  // with -s this shows how many start early
    CHECK(steps - now > steps * 98 / 100);
}
