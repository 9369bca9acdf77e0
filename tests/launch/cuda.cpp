// A runtime that knows one thing, how much dynamic shared memory kernels may have, and says what it
// was asked.
#include "catena/launch/cuda.cuh"

#include "catena_test/catch.hpp"

#include <map>
#include <string>
#include <utility>

namespace {

constexpr int most_shared = 232448, static_shared = 512;

struct {
    int device = 0;
    std::map<std::pair<const void*, int>, int> allowed;  ///< of a kernel on a device, beyond 48 KB
    cudaError_t broken = cudaSuccess;                    ///< what every launch ends in
    cudaError_t last = cudaSuccess;
    int asked = 0, launched = 0, refused = 0;
} runtime;

cudaError_t said(cudaError_t e) {
    if (e != cudaSuccess) runtime.last = e;
    return e;
}

}  // namespace

extern "C" {

cudaError_t cudaGetDevice(int* device) {
    *device = runtime.device;
    return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int) {
    if (attribute != cudaDevAttrMaxSharedMemoryPerBlockOptin) return said(cudaErrorInvalidValue);
    *value = most_shared;
    return cudaSuccess;
}
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void*) {
    attributes->sharedSizeBytes = static_shared;
    return cudaSuccess;
}
cudaError_t cudaFuncSetAttribute(const void* kernel, cudaFuncAttribute, int bytes) {
    if (bytes > most_shared - static_shared) return said(cudaErrorInvalidValue);
    ++runtime.asked;
    runtime.allowed[{kernel, runtime.device}] = bytes;
    return cudaSuccess;
}
cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* launch, const void* kernel, void**) {
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

const int kernels[5] = {};

status launch(const int& kernel, std::uint32_t shared_bytes) {
    return launch_cuda(&kernel, {.shared_bytes = shared_bytes}, nullptr, 0, nullptr);
}

struct fresh_runtime {
    fresh_runtime() { runtime = {}; }
};

}  // namespace

TEST_CASE_METHOD(fresh_runtime, "48 KB of shared memory are not asked for", "[launch]") {
    CHECK(launch(kernels[0], 48 * 1024).ok());
    CHECK(runtime.asked == 0);
}

TEST_CASE_METHOD(fresh_runtime, "more is asked for once for each kernel and device", "[launch]") {
    for (int time = 0; time < 3; ++time)
        for (runtime.device = 0; runtime.device < 2; ++runtime.device)
            CHECK(launch(kernels[1], most_shared - static_shared).ok());
    CHECK(runtime.asked == 2);
    CHECK(runtime.launched == 6);
    CHECK(runtime.refused == 0);
}

TEST_CASE_METHOD(fresh_runtime, "what a reset of the device took back is asked for again",
                 "[launch]") {
    REQUIRE(launch(kernels[2], 100'000).ok());
    runtime.allowed.clear();  // cudaDeviceReset
    CHECK(launch(kernels[2], 100'000).ok());
    CHECK(launch(kernels[2], 100'000).ok());
    CHECK(runtime.asked == 2);
    CHECK(runtime.refused == 1);
    CHECK(runtime.last == cudaSuccess);
}

TEST_CASE_METHOD(fresh_runtime, "an error is handed on once, and not left behind", "[launch]") {
    REQUIRE(launch(kernels[3], 100'000).ok());
    runtime.broken = cudaErrorLaunchOutOfResources;
    CHECK(std::string(launch(kernels[3], 100'000).message) ==
          "the launch failed: broken (cudaErrorOf)");
    CHECK(runtime.refused == 1);
    CHECK(launch(kernels[4], most_shared).code == status_code::device_error);  // more than there is
    CHECK(runtime.last == cudaSuccess);
}
