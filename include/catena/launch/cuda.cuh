// Launches a kernel on a GPU. `stream` is a cudaStream_t, `kernel` the address of a __global__
// function that takes the skeleton's argument struct by value. Allocates nothing, never
// synchronizes: fit for capture.
#pragma once

#include "catena/error/message.hpp"
#include "catena/exec/launch.hpp"

#include <cuda_runtime_api.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace catena {

namespace detail {

inline status cuda_failed(const char* what, cudaError_t error) {
    // The status carries it: the engine's next check must not trip over it.
    (void)cudaGetLastError();
    return failure(status_code::device_error, "%s failed: %s (%s)", what, cudaGetErrorString(error),
                   cudaGetErrorName(error));
}

/// Kernels that may already use all shared memory of a device, so that a launch need not ask again.
/// A full set only costs time.
class opted_in_kernels {
  public:
    bool has(const void* kernel, int device) const {
        const std::uintptr_t k = key(kernel, device);
        for (std::size_t i = 0; i < probes; ++i)
            if (slots_[(hash(k) + i) % slots].load(std::memory_order_acquire) == k) return true;
        return false;
    }
    void add(const void* kernel, int device) {
        const std::uintptr_t k = key(kernel, device);
        for (std::size_t i = 0; i < probes; ++i) {
            std::uintptr_t empty = 0;
            if (slots_[(hash(k) + i) % slots].compare_exchange_strong(empty, k) || empty == k)
                return;
        }
    }

  private:
    static constexpr std::size_t slots = 4096, probes = 16;

    // Addresses of code leave the upper 16 bits free.
    static std::uintptr_t key(const void* kernel, int device) {
        return reinterpret_cast<std::uintptr_t>(kernel) | static_cast<std::uintptr_t>(device) << 48;
    }
    static std::size_t hash(std::uintptr_t k) { return (k >> 4 ^ k >> 13 ^ k >> 48) % slots; }

    std::atomic<std::uintptr_t> slots_[slots] = {};
};

/// More than 48 KB of dynamic shared memory must be asked for, once per kernel and device.
inline constexpr std::uint32_t unasked_shared_bytes = 48 * 1024;

inline cudaError_t ask_for_shared_bytes(const void* kernel, int device) {
    int most = 0;
    if (const cudaError_t e =
            cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
        e != cudaSuccess)
        return e;
    cudaFuncAttributes kernel_uses{};
    if (const cudaError_t e = cudaFuncGetAttributes(&kernel_uses, kernel); e != cudaSuccess)
        return e;
    return cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                most - static_cast<int>(kernel_uses.sharedSizeBytes));
}

/// Launches a kernel that needs so much. Devices forget at cudaDeviceReset, of which nobody hears
/// but by the launch that is refused then.
inline cudaError_t launch_with_shared_bytes(const cudaLaunchConfig_t& launch, const void* kernel,
                                            void** parameters) {
    static opted_in_kernels opted_in;
    int device = 0;
    if (const cudaError_t e = cudaGetDevice(&device); e != cudaSuccess) return e;
    if (opted_in.has(kernel, device)) {
        const cudaError_t e = cudaLaunchKernelExC(&launch, kernel, parameters);
        if (e != cudaErrorInvalidValue) return e;
        (void)cudaGetLastError();
    }
    if (const cudaError_t e = ask_for_shared_bytes(kernel, device); e != cudaSuccess) return e;
    opted_in.add(kernel, device);
    return cudaLaunchKernelExC(&launch, kernel, parameters);
}

}  // namespace detail

/// A launch_fn. The launch is asynchronous: an error of the kernel itself shows at the engine's
/// next synchronization.
inline status launch_cuda(const void* kernel, const launch_config& config, const void* args,
                          std::size_t /*args_bytes*/, void* stream) noexcept {
    if (kernel == nullptr)
        return failure(status_code::no_kernel,
                       "launch_cuda: the row has no kernel; link the instances with CUDA enabled");
    cudaLaunchAttribute attributes[2] = {};
    unsigned count = 0;
    if (config.dependent) {
        attributes[count].id = cudaLaunchAttributeProgrammaticStreamSerialization;
        attributes[count++].val.programmaticStreamSerializationAllowed = 1;
    }
    if (config.cluster > 1) {
        attributes[count].id = cudaLaunchAttributeClusterDimension;
        attributes[count++].val.clusterDim = {config.cluster, 1, 1};
    }

    cudaLaunchConfig_t launch{};
    launch.gridDim = dim3(config.blocks);
    launch.blockDim = dim3(config.threads);
    launch.dynamicSmemBytes = config.shared_bytes;
    launch.stream = static_cast<cudaStream_t>(stream);
    launch.attrs = attributes;
    launch.numAttrs = count;

    void* parameters[] = {const_cast<void*>(args)};
    const cudaError_t e = config.shared_bytes > detail::unasked_shared_bytes
                              ? detail::launch_with_shared_bytes(launch, kernel, parameters)
                              : cudaLaunchKernelExC(&launch, kernel, parameters);
    return e == cudaSuccess ? status{} : detail::cuda_failed("the launch", e);
}

}  // namespace catena
