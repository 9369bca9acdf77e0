// The table for a GPU: its own set, or the nearest older one that runs there.
#pragma once

#include "catena/error/message.hpp"
#include "catena/instances/all.hpp"

#include <string_view>  // rbegin, rend

// A set that is linked with its kernels defines CATENA_HAS_KERNELS and brings the CUDA runtime.
#if defined(CATENA_HAS_KERNELS)
#include "catena/launch/device.cuh"
#include "catena/launch/prepare.cuh"
#endif

namespace catena::instances {

/// The table for CUDA device `device` among the sets that this program links. If it is not the
/// device's own set, `state` is ok and its message says which one serves. Otherwise `state` says
/// why there is none: the planner then leaves everything to the engine. Each file has its own:
/// those of one program may be compiled with different sets.
static inline table for_device(int device) noexcept;

#if defined(CATENA_HAS_KERNELS)

namespace detail {

/// Whether the set has code that loads on the current device.
inline bool runs_here(const table& t) {
    if (!t.state.ok() || t.kernels == nullptr || t.row_count == 0) return false;
    cudaFuncAttributes attributes;
    if (cudaFuncGetAttributes(&attributes, t.kernels[0]) == cudaSuccess) return true;
    (void)cudaGetLastError();
    return false;
}

}  // namespace detail

static inline table for_device(int device) noexcept {
    const auto none = [](status why) {
        table t;
        t.state = why;
        return t;
    };
    const catena::detail::current_device current(device);
    int major = 0, minor = 0;
    cudaError_t error = current.error;
    if (error == cudaSuccess)
        error = cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);
    if (error == cudaSuccess)
        error = cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device);
    if (error != cudaSuccess) {
        (void)cudaGetLastError();
        return none(failure(status_code::device_error, "CUDA device %d cannot be used: %s", device,
                            cudaGetErrorString(error)));
    }

    const int wanted = major * 10 + minor;
    table best;  // the newest that loads: whether PTX does is known once it has been compiled
    for (auto a = std::rbegin(arch_registry); a != std::rend(arch_registry); ++a) {
        if (a->compute_capability == 0 || a->compute_capability > wanted) continue;
        best = table_named(a->name);
        if (detail::runs_here(best)) break;
        best = {};
    }
    if (best.target == nullptr)
        return none(failure(status_code::no_instances,
                            "no instances run on CUDA device %d (sm_%d): built in are%s; link "
                            "catena::instances_sm_%d with CUDA enabled",
                            device, wanted, sizeof(built_in) > 1 ? built_in : " none", wanted));
    best.device = *best.target;
    for (const arch& a : arch_registry)  // code of an older set meets this GPU's limits
        if (a.compute_capability > best.target->compute_capability &&
            a.compute_capability <= wanted)
            best.device = a;
    best.device = of_device(*best.device, device);
    if (best.target->compute_capability != wanted)
        best.state =
            failure(status_code::ok, "device %d is sm_%d, which has no set here: %s serves", device,
                    wanted, best.target->name);
    best.prepare = prepare_cuda;
    best.device_number = device;
    return best;
}

#else

static inline table for_device(int) noexcept {
    table t;
    t.state = failure(status_code::no_instances,
                      "no instance set with CUDA kernels is linked: built in are%s; link "
                      "catena::instances_<arch> of a build with CUDA",
                      sizeof(built_in) > 1 ? built_in : " none");
    return t;
}

#endif

}  // namespace catena::instances
