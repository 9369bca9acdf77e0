#include "runtime.hpp"

#include <cstdint>
#include <cstdlib>
#include <mutex>

using namespace catena_test;

cuda_runtime catena_test::runtime;

namespace {

/// Held by each call that a plan or a launch makes.
std::mutex guard;
using alone = std::lock_guard<std::mutex>;

cudaError_t said(cudaError_t e) {
    if (e != cudaSuccess) runtime.last = e;
    return e;
}

/// What every call but a launch begins with.
cudaError_t called() {
    ++runtime.calls;
    if (runtime.sticky != cudaSuccess) return said(runtime.sticky);
    return runtime.capturing ? said(cudaErrorStreamCaptureUnsupported) : cudaSuccess;
}

cudaError_t use(const void* kernel) {
    if (kernel == runtime.missing || runtime.no_image.count(kernel) != 0)
        return said(cudaErrorNoKernelImageForDevice);
    const bool is_new = runtime.loaded.insert({kernel, runtime.device}).second;
    return said(is_new && runtime.capturing ? cudaErrorStreamCaptureUnsupported : cudaSuccess);
}

}  // namespace

extern "C" {

cudaError_t cudaGetDeviceCount(int* count) {
    *count = runtime.devices;
    return called();
}
cudaError_t cudaGetDevice(int* device) {
    const alone here(guard);
    *device = runtime.device;
    return called();
}
cudaError_t cudaSetDevice(int device) {
    const alone here(guard);
    if (device >= runtime.devices) return said(cudaErrorInvalidDevice);
    runtime.device = device;
    return called();
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
    const alone here(guard);
    for (const auto* all : {&runtime.of_device[device].attributes, &runtime.attributes})
        if (const auto known = all->find(attribute); known != all->end()) {
            *value = known->second;
            return called();
        }
    return said(cudaErrorInvalidValue);
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
    const std::string& own = runtime.of_device[device].name;
    (own.empty() ? runtime.name : own).copy(properties->name, sizeof(properties->name) - 1);
    return called();
}
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* kernel) {
    const alone here(guard);
    attributes->sharedSizeBytes = static_shared;
    const cudaError_t e = called();
    return e == cudaSuccess ? use(kernel) : e;
}
cudaError_t cudaFuncSetAttribute(const void* kernel, cudaFuncAttribute attribute, int value) {
    const alone here(guard);
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
    const alone here(guard);
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
    const alone here(guard);
    if (const cudaError_t e = use(kernel); e != cudaSuccess) return e;
    const auto allowed = runtime.allowed.find({kernel, runtime.device});
    const int most = allowed == runtime.allowed.end() ? 48 * 1024 : allowed->second;
    const bool fits = launch->dynamicSmemBytes <= static_cast<std::size_t>(most);
    ++(fits && runtime.broken == cudaSuccess ? runtime.launched : runtime.refused);
    runtime.now_ms += static_cast<float>(runtime.launched);
    return said(fits ? runtime.broken : cudaErrorInvalidValue);
}
cudaError_t cudaMalloc(void** memory, std::size_t bytes) {
    constexpr std::size_t alignment = 256;
    *memory = std::aligned_alloc(alignment, (bytes / alignment + 1) * alignment);
    return called();
}
cudaError_t cudaFree(void* memory) {
    std::free(memory);
    return called();
}
cudaError_t cudaDeviceSynchronize() { return called(); }
cudaError_t cudaStreamIsCapturing(cudaStream_t, cudaStreamCaptureStatus* status) {
    *status = runtime.capturing ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
    return said(runtime.sticky);
}
cudaError_t cudaEventCreate(cudaEvent_t* event) {
    *event = reinterpret_cast<cudaEvent_t>(std::intptr_t{++runtime.events});
    return called();
}
cudaError_t cudaEventDestroy(cudaEvent_t) {
    --runtime.events;
    return called();
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t) {
    runtime.recorded[event] = runtime.now_ms;
    return called();
}
cudaError_t cudaEventSynchronize(cudaEvent_t) { return called(); }
cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t first, cudaEvent_t last) {
    *ms = runtime.recorded.at(last) - runtime.recorded.at(first);
    return called();
}
cudaError_t cudaGetLastError() { return std::exchange(runtime.last, cudaSuccess); }
const char* cudaGetErrorString(cudaError_t) { return "broken"; }
const char* cudaGetErrorName(cudaError_t) { return "cudaErrorOf"; }

}  // extern "C"
