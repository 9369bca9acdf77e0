// A launch as a value, and the functions through which a table's kernels are made ready and
// launched: CUDA's in launch/prepare.cuh and launch/cuda.cuh, the host executor's in
// exec/host/launch.hpp. None is included here.
#pragma once

#include "catena/error/status.hpp"

#include <cstddef>
#include <cstdint>

namespace CATENA_NAMESPACE {

struct launch_config {
    std::uint32_t blocks = 1;
    std::uint32_t threads = 1;
    std::uint32_t shared_bytes = 0;  ///< dynamic shared memory
    bool dependent = false;          ///< programmatic dependent launch
    std::uint32_t cluster = 1;       ///< blocks of a thread block cluster, a divisor of all blocks
};

/// `kernel` is the row's entry of the table, `args` points to the skeleton's argument struct (by
/// value on the device), `stream` a cudaStream_t or the host executor's device.
using launch_fn = status (*)(const void* kernel, const launch_config& config, const void* args,
                             std::size_t args_bytes, void* stream) noexcept;

/// Makes a kernel ready for such launches on a device, which need not be the current one. The
/// planner calls it for what a plan launches, since loading a kernel is forbidden within a capture.
/// status_code::no_clusters: the device has no room for one cluster of the launch.
using prepare_fn = status (*)(const void* kernel, const launch_config& config, int device) noexcept;

}  // namespace CATENA_NAMESPACE
