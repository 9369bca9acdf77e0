// Launches a kernel on a GPU. `stream` is a cudaStream_t, `kernel` the address of a __global__
// function that takes the skeleton's argument struct by value. Allocates nothing, never
// synchronizes: fit for capture, once launch/prepare.cuh has made the kernel ready.
#pragma once

#include "catena/error/message.hpp"
#include "catena/exec/launch.hpp"

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

namespace CATENA_NAMESPACE {

namespace detail {

inline status cuda_failed(const char* what, cudaError_t error) {
    // The status carries it: the engine's next check must not trip over it.
    (void)cudaGetLastError();
    return failure(status_code::device_error, "%s failed: %s (%s)", what, cudaGetErrorString(error),
                   cudaGetErrorName(error));
}

/// Dynamic shared memory beyond this must be asked for, once per kernel and device.
inline constexpr std::uint32_t unasked_shared_bytes = 48 * 1024;

/// Lets a kernel have all shared memory that a block of the current device may have.
inline cudaError_t allow_shared_bytes(const void* kernel) {
    int device = 0, most = 0;
    cudaFuncAttributes kernel_uses{};
    if (const cudaError_t e = cudaGetDevice(&device); e != cudaSuccess) return e;
    if (const cudaError_t e =
            cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
        e != cudaSuccess)
        return e;
    if (const cudaError_t e = cudaFuncGetAttributes(&kernel_uses, kernel); e != cudaSuccess)
        return e;
    return cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                most - static_cast<int>(kernel_uses.sharedSizeBytes));
}

/// A launch as CUDA takes it.
struct cuda_launch {
    cudaLaunchAttribute attributes[2] = {};
    cudaLaunchConfig_t config = {};

    cuda_launch(const launch_config& from, void* stream) {
        config.gridDim = dim3(from.blocks);
        config.blockDim = dim3(from.threads);
        config.dynamicSmemBytes = from.shared_bytes;
        config.stream = static_cast<cudaStream_t>(stream);
        config.attrs = attributes;
        if (from.dependent) {
            cudaLaunchAttribute& a = attributes[config.numAttrs++];
            a.id = cudaLaunchAttributeProgrammaticStreamSerialization;
            a.val.programmaticStreamSerializationAllowed = 1;
        }
        if (from.cluster > 1) {
            cudaLaunchAttribute& a = attributes[config.numAttrs++];
            a.id = cudaLaunchAttributeClusterDimension;
            a.val.clusterDim = {from.cluster, 1, 1};
        }
    }
    cuda_launch(const cuda_launch&) = delete;
    cuda_launch& operator=(const cuda_launch&) = delete;
};

}  // namespace detail

/// A launch_fn. The launch is asynchronous: an error of the kernel itself shows at the engine's
/// next synchronization. A kernel that prepare_cuda has seen is launched and nothing else.
inline status launch_cuda(const void* kernel, const launch_config& config, const void* args,
                          std::size_t /*args_bytes*/, void* stream) noexcept {
    if (kernel == nullptr)
        return failure(status_code::no_kernel,
                       "launch_cuda: the row has no kernel; link the instances with CUDA enabled");
    const detail::cuda_launch launch(config, stream);
    void* parameters[] = {const_cast<void*>(args)};
    cudaError_t e = cudaLaunchKernelExC(&launch.config, kernel, parameters);
    if (e == cudaErrorInvalidValue && config.shared_bytes > detail::unasked_shared_bytes) {
        // Nobody has prepared the kernel, or a cudaDeviceReset has taken back what it was allowed.
        (void)cudaGetLastError();
        e = detail::allow_shared_bytes(kernel);
        if (e == cudaSuccess) e = cudaLaunchKernelExC(&launch.config, kernel, parameters);
    }
    return e == cudaSuccess ? status{} : detail::cuda_failed("the launch", e);
}

}  // namespace CATENA_NAMESPACE
