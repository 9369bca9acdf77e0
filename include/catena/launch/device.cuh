// A device at hand as an arch: the limits and the rates that CUDA reports of it.
#pragma once

#include "catena/arch/gpu.hpp"

#include <cuda_runtime_api.h>

namespace CATENA_NAMESPACE {

namespace detail {

/// What CUDA says of a device; 0 if it does not know.
inline int device_says(cudaDeviceAttr what, int device) {
    int value = 0;
    if (cudaDeviceGetAttribute(&value, what, device) == cudaSuccess) return value;
    (void)cudaGetLastError();
    return 0;
}

}  // namespace detail

/// `a`, the arch of a device, with what CUDA reports of that device: its name, its SMs and their
/// limits, the clock, and the bandwidth (memory clock x width of the bus x 2 transfers a cycle). A
/// part of a GPU (MIG) reports its own SMs. What CUDA does not know stays as it is.
inline arch of_device(arch a, int device) {
    const auto limit = [device](cudaDeviceAttr what, int& to) {
        if (const int value = detail::device_says(what, device); value > 0) to = value;
    };
    limit(cudaDevAttrMaxThreadsPerMultiProcessor, a.max_threads_per_sm);
    limit(cudaDevAttrMaxBlocksPerMultiprocessor, a.max_blocks_per_sm);
    limit(cudaDevAttrMaxRegistersPerMultiprocessor, a.registers_per_sm);
    limit(cudaDevAttrMaxSharedMemoryPerMultiprocessor, a.shared_per_sm);
    limit(cudaDevAttrMaxSharedMemoryPerBlockOptin, a.shared_per_block);

    cudaDeviceProp properties{};
    if (cudaGetDeviceProperties(&properties, device) != cudaSuccess) (void)cudaGetLastError();
    const double memory_khz = detail::device_says(cudaDevAttrMemoryClockRate, device);
    const double bus_bits = detail::device_says(cudaDevAttrGlobalMemoryBusWidth, device);
    gpu_figures figures{};
    figures.name = properties.name[0] != '\0' ? properties.name : a.gpu;
    figures.sms = detail::device_says(cudaDevAttrMultiProcessorCount, device);
    figures.peak_bytes_per_us = memory_khz / 1000 * 2 * bus_bits / 8;
    figures.cycles_per_us = detail::device_says(cudaDevAttrClockRate, device) / 1000.0;
    return with_figures(a, figures);
}

}  // namespace CATENA_NAMESPACE
