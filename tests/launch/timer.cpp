// GPU times of steps, on a CUDA runtime of the tests' own.
#include "catena/launch/timer.cuh"
#include "catena/plan/log.hpp"
#include "catena/runtime.hpp"

#include "runtime.hpp"

#include "catena_test/catch.hpp"
#include "catena_test/graph_builder.hpp"
#include "catena_test/invented.hpp"

namespace {

using namespace catena;
using namespace catena_test;

const char kernels[toy_row_count] = {};
alignas(256) std::byte workspace[4096];

/// A norm and two matmuls that cannot share a launch.
struct timed_plan : fresh_runtime {
    std::vector<const void*> addresses;
    graph_builder g;
    id norm = g.scaled_norm(g.input(format::f32, {512}));
    id q = g.matmul(format::q4_K, 64, norm), k = g.matmul(format::q8_0, 64, norm);
    options asked;
    std::vector<std::string> said;

    plan planned() {
        g[norm].name = "attn_norm-3";
        g[g[q].src[0]].name = "blk.3.attn_q.weight";
        g[g[k].src[0]].name = "blk.3.attn_k.weight";
        for (const char& c : kernels) addresses.push_back(&c);
        table t = toy_table();
        t.kernels = addresses.data();
        t.launch = launch_cuda;
        asked.log = log_level::times;
        asked.log_to = [this](const char* line) { said.emplace_back(line); };
        return planner(t, asked).plan(g.view());
    }
};

void launch_all(const plan& p, const observer& watch) {
    for (int i = 0; i < p.size(); ++i) REQUIRE(p.launch(i, nullptr, workspace, &watch).ok());
}

}  // namespace

TEST_CASE_METHOD(timed_plan, "CUDA's events time each step, and the log names it", "[timer]") {
    const plan p = planned();
    REQUIRE(p.steps().size() == 3);
    {
        step_timer timer;
        launch_all(p, timer.watch_if_asked(asked));
        CHECK(runtime.events == 6);
        const timing t = timer.report();
        REQUIRE(t.state.ok());
        REQUIRE(t.walks.size() == 1);
        const std::vector<step_time>& slowest = t.walks[0].steps;
        REQUIRE(slowest.size() == 3);
        const std::string chain = p.rows().chains[p.chains()[0].chain].name;
        CHECK(slowest[0].step == "node 3 " + chain + " attn_norm-3 -> blk.3.attn_k.weight");
        CHECK(slowest[1].step == "node 2 " + chain + " attn_norm-3 -> blk.3.attn_q.weight");
        CHECK(slowest[2].step == "node 1 " + chain + " attn_norm-3");
        for (std::size_t i = 0; i < 3; ++i)
            CHECK(slowest[i].median_us == Approx(3e3 - 1e3 * double(i)));
        said.clear();
        log_as_asked(t, asked);
        REQUIRE(said.size() == 4);
        CHECK(said[1].find(slowest[0].step + ": " + slowest[0].row) != std::string::npos);
    }
    CHECK(runtime.events == 0);
}

TEST_CASE_METHOD(timed_plan, "A stream that is captured has no times, and the log says so",
                 "[timer]") {
    const plan p = planned();
    step_timer timer;
    const observer watch = timer.watch_if_asked(asked);
    launch_all(p, watch);
    timer.end_walk();
    runtime.capturing = true;
    launch_all(p, watch);
    runtime.capturing = false;
    said.clear();
    log_as_asked(timer.report(), asked);
    REQUIRE(said.size() == 1);
    CHECK(said[0].find("catena: no times: ") == 0);
    CHECK(said[0].find("captured") != std::string::npos);
}

TEST_CASE_METHOD(fresh_runtime, "A clock of a GPU fails with what CUDA says", "[timer]") {
    const cuda_clock clock;
    cudaEvent_t event{};
    REQUIRE(clock.create(event).ok());
    const auto said = [](const status& s) {
        CHECK(s.code == status_code::device_error);
        return std::string(s.message);
    };
    runtime.sticky = cudaErrorIllegalAddress;
    CHECK(said(clock.record(event, nullptr)).find("asking whether a stream is captured") !=
          std::string::npos);
    double us = 0;
    CHECK(said(clock.between(event, event, us)).find("waiting for an event") != std::string::npos);
}
