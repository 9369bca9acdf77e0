// A CUDA runtime of the test's own. It loads a kernel when that is first used, forbids that and
// every other call but a launch within a capture, and writes down what it is asked.
#include "catena/launch/prepare.cuh"
#include "catena/runtime.hpp"

#include "catena_test/catch.hpp"
#include "catena_test/graph_builder.hpp"
#include "catena_test/invented.hpp"

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace {

constexpr int most_shared = 232448, static_shared = 512;

using kernel_on_device = std::pair<const void*, int>;

struct {
    int device = 0;
    bool capturing = false;
    std::set<kernel_on_device> loaded;
    std::map<kernel_on_device, int> allowed;    ///< shared memory, beyond 48 KB
    std::map<kernel_on_device, int> carve_out;  ///< its share of L1, in percent
    int clusters = 1;                           ///< how many are active at once
    const void* missing = nullptr;              ///< a kernel without code for this GPU
    cudaError_t broken = cudaSuccess;           ///< what every launch ends in
    cudaError_t last = cudaSuccess;
    int calls = 0;  ///< but launches
    int asked_for_shared = 0, asked_for_clusters = 0, launched = 0, refused = 0;
} runtime;

cudaError_t said(cudaError_t e) {
    if (e != cudaSuccess) runtime.last = e;
    return e;
}

/// What every call but a launch begins with.
cudaError_t called() {
    ++runtime.calls;
    return runtime.capturing ? said(cudaErrorStreamCaptureUnsupported) : cudaSuccess;
}

cudaError_t use(const void* kernel) {
    if (kernel == runtime.missing) return said(cudaErrorNoKernelImageForDevice);
    const bool is_new = runtime.loaded.insert({kernel, runtime.device}).second;
    return said(is_new && runtime.capturing ? cudaErrorStreamCaptureUnsupported : cudaSuccess);
}

}  // namespace

extern "C" {

cudaError_t cudaGetDevice(int* device) {
    *device = runtime.device;
    return called();
}
cudaError_t cudaSetDevice(int device) {
    if (device > 7) return said(cudaErrorInvalidDevice);
    runtime.device = device;
    return called();
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int) {
    if (attribute != cudaDevAttrMaxSharedMemoryPerBlockOptin) return said(cudaErrorInvalidValue);
    *value = most_shared;
    return called();
}
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* kernel) {
    attributes->sharedSizeBytes = static_shared;
    const cudaError_t e = called();
    return e == cudaSuccess ? use(kernel) : e;
}
cudaError_t cudaFuncSetAttribute(const void* kernel, cudaFuncAttribute attribute, int value) {
    if (attribute == cudaFuncAttributePreferredSharedMemoryCarveout) {
        runtime.carve_out[{kernel, runtime.device}] = value;
        return called();
    }
    if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize ||
        value > most_shared - static_shared)
        return said(cudaErrorInvalidValue);
    ++runtime.asked_for_shared;
    runtime.allowed[{kernel, runtime.device}] = value;
    return called();
}
cudaError_t cudaOccupancyMaxActiveClusters(int* clusters, const void* kernel,
                                           const cudaLaunchConfig_t* launch) {
    ++runtime.asked_for_clusters;
    bool has_cluster = false;
    for (unsigned i = 0; i < launch->numAttrs; ++i)
        has_cluster = has_cluster || launch->attrs[i].id == cudaLaunchAttributeClusterDimension;
    const auto allowed = runtime.allowed.find({kernel, runtime.device});
    const bool fits = allowed != runtime.allowed.end() &&
                      launch->dynamicSmemBytes <= static_cast<std::size_t>(allowed->second);
    if (!has_cluster || !fits) return said(cudaErrorInvalidValue);
    *clusters = runtime.clusters;
    return called();
}
cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* launch, const void* kernel, void**) {
    if (const cudaError_t e = use(kernel); e != cudaSuccess) return e;
    const auto allowed = runtime.allowed.find({kernel, runtime.device});
    const int most = allowed == runtime.allowed.end() ? 48 * 1024 : allowed->second;
    const bool fits = launch->dynamicSmemBytes <= static_cast<std::size_t>(most);
    ++(fits && runtime.broken == cudaSuccess ? runtime.launched : runtime.refused);
    return said(fits ? runtime.broken : cudaErrorInvalidValue);
}
cudaError_t cudaGetLastError() { return std::exchange(runtime.last, cudaSuccess); }
const char* cudaGetErrorString(cudaError_t) { return "broken"; }
const char* cudaGetErrorName(cudaError_t) { return "cudaErrorOf"; }

}  // extern "C"

namespace {

using namespace catena;
using namespace catena_test;

// Each test has kernels of its own, since what was made ready once stays so.
const char kernels[10] = {}, kernels_of_tables[100] = {};

status launch(const char& kernel, std::uint32_t shared_bytes) {
    return launch_cuda(&kernel, {.shared_bytes = shared_bytes}, nullptr, 0, nullptr);
}

struct fresh_runtime {
    fresh_runtime() { runtime = {}; }
};

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
