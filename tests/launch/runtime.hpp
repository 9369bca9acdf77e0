// A CUDA runtime of the tests' own. It loads a kernel when that is first used, forbids that and
// every other call but a launch within a capture, and counts what it is asked. Threads may plan and
// launch on it at once; as in CUDA, each has a current device and a last error of its own.
#pragma once

#include <cuda_runtime_api.h>

#include <map>
#include <set>
#include <string>
#include <utility>

namespace catena_test {

inline constexpr int most_shared = 232448, static_shared = 512;

using kernel_on_device = std::pair<const void*, int>;

struct cuda_runtime {
    static inline thread_local int device = 0;
    static inline thread_local cudaError_t last = cudaSuccess;
    bool capturing = false;
    std::set<kernel_on_device> loaded;
    std::map<kernel_on_device, int> allowed;    ///< shared memory, beyond 48 KB
    std::map<kernel_on_device, int> carve_out;  ///< its share of L1, in percent
    int clusters = 1;                           ///< how many are active at once
    const void* missing = nullptr;              ///< a kernel without code for this GPU
    std::set<const void*> no_image;             ///< further ones
    cudaError_t broken = cudaSuccess;           ///< what every launch ends in
    cudaError_t sticky = cudaSuccess;           ///< what every call but a launch ends in
    int calls = 0;                              ///< but launches
    int asked_for_shared = 0, asked_for_clusters = 0, launched = 0, refused = 0;

    int events = 0;    ///< that are there
    float now_ms = 0;  ///< each launch takes a millisecond more than the one before
    std::map<cudaEvent_t, float> recorded;  ///< when
    int devices = 8;

    /// What all devices have.
    std::string name = "NVIDIA Invented 1";
    std::map<cudaDeviceAttr, int> attributes = {
        {cudaDevAttrMaxSharedMemoryPerBlockOptin, most_shared}};

    /// What one device has instead.
    struct figures {
        std::string name;
        std::map<cudaDeviceAttr, int> attributes;
    };
    std::map<int, figures> of_device;
};
extern cuda_runtime runtime;

struct fresh_runtime {
    fresh_runtime() {
        runtime = {};
        runtime.device = 0;
        runtime.last = cudaSuccess;
    }
};

/// A machine with two GPUs of different archs: device 0 is an H100, device 1 an RTX 3090.
struct two_gpus : fresh_runtime {
    two_gpus() {
        runtime.of_device[0] = {"NVIDIA H100 PCIe",
                                {{cudaDevAttrComputeCapabilityMajor, 9},
                                 {cudaDevAttrComputeCapabilityMinor, 0},
                                 {cudaDevAttrMultiProcessorCount, 114}}};
        runtime.of_device[1] = {"NVIDIA GeForce RTX 3090",
                                {{cudaDevAttrComputeCapabilityMajor, 8},
                                 {cudaDevAttrComputeCapabilityMinor, 6},
                                 {cudaDevAttrMultiProcessorCount, 82},
                                 {cudaDevAttrMaxThreadsPerMultiProcessor, 1536}}};
    }
};

}  // namespace catena_test
