// The table for a GPU: its own set, or the nearest older one that runs there.
#pragma once

#include "catena/arch/served.hpp"
#include "catena/error/message.hpp"
#include "catena/instances/all.hpp"
#include "catena/pick/measured_on.hpp"

#include <cstddef>
#include <initializer_list>
#include <iterator>
#include <string>

// A set that is linked with its kernels defines CATENA_HAS_KERNELS and brings the CUDA runtime.
#if defined(CATENA_HAS_KERNELS)
#include "catena/launch/device.cuh"
#include "catena/launch/prepare.cuh"
#endif

namespace CATENA_NAMESPACE::instances {

/// The table for CUDA device `device` among the sets that this program links. `state` is ok, and
/// its message says so, if the set is not the device's own, or if its medians are of another GPU
/// and were left out. Otherwise `state` says why there is none: the planner then leaves everything
/// to the engine. A program with several GPUs asks for each of them. Each file has its own: those
/// of one program may be compiled with different sets.
static inline table for_device(int device) noexcept;

/// Chooses in the same way among sets of an engine's own, such as
/// `for_device(device, {my_kernels::sm_80(), my_kernels::sm_90()})`.
static inline table for_device(int device, std::initializer_list<table> sets) noexcept;

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

/// The newest set that loads on the current device: whether PTX does is known once it has been
/// compiled. Null: none does.
inline const table* newest(const table* sets, std::size_t count, int wanted) {
    const table* best = nullptr;
    for (const table* t = sets; t != sets + count; ++t) {
        const int has = t->target == nullptr ? 0 : t->target->compute_capability;
        if (has == 0 || has > wanted) continue;
        if (best != nullptr && has <= best->target->compute_capability) continue;
        if (runs_here(*t)) best = t;
    }
    return best;
}

/// The table with the figures of the device, and without medians of another GPU.
inline table fitted(table t, int device, int wanted) {
    t.device = *t.target;
    for (const arch& a : arch_registry)  // code of an older set meets this GPU's limits
        if (a.compute_capability > t.target->compute_capability && a.compute_capability <= wanted)
            t.device = a;
    t.device = of_device(*t.device, device);
    if (t.target->compute_capability != wanted)
        t.state = failure(status_code::ok, "device %d is sm_%d, which has no set here: %s serves",
                          device, wanted, t.target->name);
    keep_own_medians(t);
    t.prepare = prepare_cuda;
    t.device_number = device;
    return t;
}

/// The names of sets, a space before each.
inline std::string names_of(const table* sets, std::size_t count) {
    std::string out;
    for (const table* t = sets; t != sets + count; ++t)
        if (t->target != nullptr) out += std::string(" ") + t->target->name;
    return out.empty() ? " none" : out;
}

inline table for_device(int device, const table* sets, std::size_t count) {
    table none;
    const catena::detail::current_device current(device);
    int major = 0, minor = 0;
    cudaError_t error = current.error;
    if (error == cudaSuccess)
        error = cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);
    if (error == cudaSuccess)
        error = cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device);
    if (error != cudaSuccess) {
        (void)cudaGetLastError();
        none.state = failure(status_code::device_error, "CUDA device %d cannot be used: %s", device,
                             cudaGetErrorString(error));
        return none;
    }
    const int wanted = major * 10 + minor;
    if (const table* const best = newest(sets, count, wanted)) return fitted(*best, device, wanted);
    const served_gpu& nearest = nearest_served(wanted);
    none.state = failure(
        status_code::no_instances,
        "no instances run on CUDA device %d (sm_%d): there are%.80s; link %s, with "
        "kernels compiled for sm_%d (CATENA_CUDA_ARCHS)",
        device, wanted, names_of(sets, count).c_str(), nearest.set, nearest.compute_capability);
    return none;
}

}  // namespace detail

static inline table for_device(int device, std::initializer_list<table> sets) noexcept {
    return detail::for_device(device, sets.begin(), sets.size());
}

static inline table for_device(int device) noexcept {
    table linked[std::size(arch_registry)];
    for (std::size_t i = 0; i < std::size(linked); ++i)
        linked[i] = table_named(arch_registry[i].name);
    return detail::for_device(device, linked, std::size(linked));
}

#else

static inline table for_device(int, std::initializer_list<table>) noexcept {
    table t;
    t.state = failure(status_code::no_instances,
                      "no instance set with CUDA kernels is linked: built in are%s; link "
                      "catena::instances_<arch> of a build with CUDA",
                      sizeof(built_in) > 1 ? built_in : " none");
    return t;
}

static inline table for_device(int device) noexcept { return for_device(device, {}); }

#endif

}  // namespace CATENA_NAMESPACE::instances
