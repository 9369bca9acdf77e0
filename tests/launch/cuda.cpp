// How kernels are made ready and launched, on a CUDA runtime of the tests' own.
#include "catena/launch/prepare.cuh"
#include "catena/pick/name.hpp"
#include "catena/plan/step.hpp"
#include "catena/runtime.hpp"

#include "runtime.hpp"

#include "catena_test/catch.hpp"
#include "catena_test/graph_builder.hpp"
#include "catena_test/invented.hpp"

#include <string>
#include <vector>

namespace {

using namespace catena;
using namespace catena_test;

// Each test has kernels of its own, since what was made ready once stays so.
const char kernels[10] = {}, kernels_of_tables[100] = {};

status launch(const char& kernel, std::uint32_t shared_bytes) {
    return launch_cuda(&kernel, {.shared_bytes = shared_bytes}, nullptr, 0, nullptr);
}

/// The invented table, with kernels for CUDA on device `number`.
struct table_at_hand {
    std::vector<const void*> kernels;
    table t = toy_table();

    explicit table_at_hand(int number) {
        static const char* next = kernels_of_tables;
        while (kernels.size() < toy_row_count) kernels.push_back(next++);
        t.kernels = kernels.data();
        t.launch = launch_cuda;
        t.prepare = prepare_cuda;
        t.device_number = number;
    }
    table_at_hand(const table_at_hand&) = delete;
    table_at_hand& operator=(const table_at_hand&) = delete;
};

struct two_readers {
    graph_builder g;
    id norm = g.scaled_norm(g.input(format::f32, {512}));
    id a = g.matmul(format::q4_K, 64, norm), b = g.matmul(format::q8_0, 64, norm);
};

alignas(256) std::byte workspace[4096];

/// What the launches of a plan came to, within a capture.
std::vector<bool> captured(const plan& p) {
    std::vector<bool> out;
    runtime.capturing = true;
    for (int i = 0; i < p.size(); ++i) out.push_back(p.launch(i, nullptr, workspace).ok());
    runtime.capturing = false;
    return out;
}

}  // namespace

TEST_CASE_METHOD(fresh_runtime, "in a capture a plan calls nothing but launches", "[launch]") {
    const table_at_hand rows(3);
    two_readers c;
    runtime.device = 1;  // another one is current while the plan is made
    const plan p = planner(rows.t).plan(c.g.view());
    REQUIRE(p.state().ok());
    REQUIRE(p.steps().size() == 3);
    CHECK(runtime.device == 1);
    const int calls = runtime.calls;
    runtime.device = 3;
    CHECK(captured(p) == std::vector<bool>(4, true));
    CHECK(runtime.calls == calls);
    CHECK(runtime.launched == 3);
    CHECK(runtime.last == cudaSuccess);
}

TEST_CASE_METHOD(fresh_runtime, "the runtime of these tests forbids to load a kernel in a capture",
                 "[launch]") {
    table_at_hand rows(3);
    rows.t.prepare = nullptr;
    two_readers c;
    CHECK(captured(planner(rows.t).plan(c.g.view())) ==
          std::vector<bool>{true, false, false, false});
}

TEST_CASE_METHOD(fresh_runtime, "all kernels of a plan divide L1 and shared memory alike",
                 "[launch]") {
    const table_at_hand rows(2);
    two_readers c;
    const plan p = planner(rows.t).plan(c.g.view());
    for (const step& s : p.steps()) {
        const auto set = runtime.carve_out.find({rows.kernels[static_cast<std::size_t>(s.row)], 2});
        REQUIRE(set != runtime.carve_out.end());
        CHECK(set->second == cudaSharedmemCarveoutMaxShared);
    }
}

TEST_CASE_METHOD(fresh_runtime, "planning again asks CUDA nothing", "[launch]") {
    const table_at_hand rows(2);
    two_readers c;
    const planner planner(rows.t);
    REQUIRE(planner.plan(c.g.view()).state().ok());
    const int calls = runtime.calls;
    CHECK(planner.plan(c.g.view()).state().ok());
    CHECK(runtime.calls == calls);
}

TEST_CASE_METHOD(fresh_runtime, "a kernel without code for the GPU is named when a plan is made",
                 "[launch]") {
    const table_at_hand rows(2);
    two_readers c;
    runtime.missing = rows.kernels[1];  // no step needs it
    REQUIRE(planner(rows.t).plan(c.g.view()).state().ok());
    const table_at_hand again(2);
    runtime.missing = again.kernels[0];
    const plan p = planner(again.t).plan(c.g.view());
    CHECK(p.steps().size() == 0);
    CHECK(std::string(p.state().message) ==
          row_name(again.t, 0) +
              " cannot run on device 2: loading it failed: broken (cudaErrorOf); "
              "CATENA_CHAINS_OFF=norm does without");
    CHECK(runtime.last == cudaSuccess);
}

TEST_CASE_METHOD(fresh_runtime, "room for clusters is asked for once for each kernel and device",
                 "[launch]") {
    const launch_config config = {
        .blocks = 8, .threads = 128, .shared_bytes = 100'000, .cluster = 4};
    for (int time = 0; time < 3; ++time)
        for (int device = 0; device < 2; ++device) {
            runtime.clusters = device;  // device 0 holds none
            const status s = prepare_cuda(&kernels[0], config, device);
            CHECK(s.code == (device == 0 ? status_code::no_clusters : status_code::ok));
        }
    CHECK(runtime.asked_for_clusters == 2);
    CHECK(std::string(prepare_cuda(&kernels[0], config, 0).message) ==
          "no cluster of 4 blocks of 128 threads with 100000 bytes of shared memory fits");
    CHECK(prepare_cuda(&kernels[0], {.threads = 128}, 0).ok());  // it may run without
    CHECK(prepare_cuda(&kernels[0], {.blocks = 8, .threads = 128, .cluster = 2}, 1).ok());
    launch_config too_large = config;
    too_large.shared_bytes = most_shared;  // an error of CUDA's: there is no such launch
    CHECK(prepare_cuda(&kernels[0], too_large, 1).code == status_code::no_clusters);
    CHECK(runtime.last == cudaSuccess);
}

TEST_CASE_METHOD(fresh_runtime, "a device that is not there is an error", "[launch]") {
    const status s = prepare_cuda(&kernels[1], {}, 9);
    CHECK(s.code == status_code::device_error);
    CHECK(std::string(s.message) == "making the device current failed: broken (cudaErrorOf)");
    CHECK(runtime.device == 0);
}

TEST_CASE_METHOD(fresh_runtime, "shared memory is asked for once for each kernel and device",
                 "[launch]") {
    for (int time = 0; time < 3; ++time)
        for (runtime.device = 0; runtime.device < 2; ++runtime.device) {
            REQUIRE(prepare_cuda(&kernels[2], {}, runtime.device).ok());
            CHECK(launch(kernels[2], most_shared - static_shared).ok());
        }
    CHECK(runtime.asked_for_shared == 2);
    CHECK(runtime.launched == 6);
    CHECK(runtime.refused == 0);
}

TEST_CASE_METHOD(fresh_runtime, "a kernel that was not made ready gets its shared memory late",
                 "[launch]") {
    CHECK(launch(kernels[3], 48 * 1024).ok());
    CHECK(runtime.calls == 0);
    for (int time = 0; time < 3; ++time) CHECK(launch(kernels[3], 100'000).ok());
    CHECK(runtime.asked_for_shared == 1);
    CHECK(runtime.refused == 1);
    CHECK(runtime.last == cudaSuccess);
}

TEST_CASE_METHOD(fresh_runtime, "what a reset of the device took back is asked for again",
                 "[launch]") {
    REQUIRE(prepare_cuda(&kernels[4], {}, 0).ok());
    REQUIRE(launch(kernels[4], 100'000).ok());
    runtime.allowed.clear();  // cudaDeviceReset
    CHECK(launch(kernels[4], 100'000).ok());
    CHECK(launch(kernels[4], 100'000).ok());
    CHECK(runtime.asked_for_shared == 2);
    CHECK(runtime.refused == 1);
    CHECK(runtime.last == cudaSuccess);
}

TEST_CASE_METHOD(fresh_runtime, "a row without a kernel is refused, and CUDA is not asked",
                 "[launch]") {
    const status none = launch_cuda(nullptr, {}, nullptr, 0, nullptr);
    CHECK(none.code == status_code::no_kernel);
    CHECK(std::string(none.message).find("the row has no kernel") != std::string::npos);
    CHECK(runtime.launched + runtime.refused + runtime.calls == 0);
}

TEST_CASE_METHOD(fresh_runtime, "an error is handed on once, and not left behind", "[launch]") {
    REQUIRE(launch(kernels[5], 100'000).ok());
    runtime.refused = 0;
    runtime.broken = cudaErrorLaunchOutOfResources;
    CHECK(std::string(launch(kernels[5], 100'000).message) ==
          "the launch failed: broken (cudaErrorOf)");
    CHECK(runtime.refused == 1);
    CHECK(launch(kernels[6], most_shared).code == status_code::device_error);  // more than there is
    CHECK(runtime.last == cudaSuccess);
}
