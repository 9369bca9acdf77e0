// Makes kernels ready for a GPU before they are launched there. CUDA loads a kernel when it is
// first used, which a capture forbids; shared memory beyond 48 KB must be asked for; and whether
// clusters find room is known only after asking. The planner does this for every kernel of a plan,
// by table::prepare, which catena::instances::for_device fills in. Engines with tables of their own
// set
//     table.prepare = catena::prepare_cuda;
//     table.device_number = device;
#pragma once

#include "catena/launch/cuda.cuh"

#include <map>
#include <mutex>
#include <set>
#include <tuple>
#include <utility>

namespace CATENA_NAMESPACE {

namespace detail {

/// Makes `device` current as long as it lives.
struct current_device {
    int before = 0;
    cudaError_t error;
    explicit current_device(int device) : error(cudaGetDevice(&before)) {
        if (error == cudaSuccess) error = cudaSetDevice(device);
    }
    ~current_device() { (void)cudaSetDevice(before); }
    current_device(const current_device&) = delete;
    current_device& operator=(const current_device&) = delete;
};

/// Loads a kernel on the current device and sets what its launches rely on.
inline status load(const void* kernel) {
    if (const cudaError_t e = allow_shared_bytes(kernel); e != cudaSuccess)
        return cuda_failed("loading it", e);
    // An SM drains before it divides L1 and shared memory anew. With one division for all kernels,
    // blocks of the next grid can join those of the last.
    if (const cudaError_t e = cudaFuncSetAttribute(
            kernel, cudaFuncAttributePreferredSharedMemoryCarveout, cudaSharedmemCarveoutMaxShared);
        e != cudaSuccess)
        return cuda_failed("setting the carve-out of shared memory", e);
    return {};
}

/// Can one cluster of the launch be on the current device at all? What CUDA does not know it
/// cannot launch either.
inline bool clusters_fit(const void* kernel, launch_config config) {
    config.dependent = false;
    const cuda_launch launch(config, nullptr);
    int clusters = 0;
    const cudaError_t e = cudaOccupancyMaxActiveClusters(&clusters, kernel, &launch.config);
    if (e != cudaSuccess) (void)cudaGetLastError();
    return e == cudaSuccess && clusters > 0;
}

/// What was made ready so far, so that CUDA is asked once for each kernel and device.
class ready_kernels {
  public:
    status prepare(const void* kernel, const launch_config& config, int device) {
        const std::lock_guard<std::mutex> alone(guard_);
        const auto clusters = clusters_.find(key(kernel, config, device));
        const bool loaded = loaded_.count({kernel, device}) != 0;
        const bool asked = config.cluster < 2 || clusters != clusters_.end();
        bool fit = clusters == clusters_.end() || clusters->second;
        if (!loaded || !asked) {
            const current_device current(device);
            if (current.error != cudaSuccess)
                return cuda_failed("making the device current", current.error);
            if (!loaded)
                if (status s = load(kernel); !s.ok()) return s;
            loaded_.insert({kernel, device});
            if (!asked) {
                fit = clusters_fit(kernel, config);
                clusters_.emplace(key(kernel, config, device), fit);
            }
        }
        if (fit) return {};
        return failure(status_code::no_clusters,
                       "no cluster of %u blocks of %u threads with %u bytes of shared memory fits",
                       config.cluster, config.threads, config.shared_bytes);
    }

  private:
    using cluster_key = std::tuple<const void*, int, std::uint32_t, std::uint32_t, std::uint32_t>;
    static cluster_key key(const void* kernel, const launch_config& c, int device) {
        return {kernel, device, c.cluster, c.threads, c.shared_bytes};
    }

    std::mutex guard_;
    std::set<std::pair<const void*, int>> loaded_;
    std::map<cluster_key, bool> clusters_;
};

}  // namespace detail

/// A prepare_fn. Any number of threads may call it, but none while a stream is captured in
/// CUDA's global mode. After a first time it looks up what it knows and asks CUDA nothing.
inline status prepare_cuda(const void* kernel, const launch_config& config, int device) noexcept {
    static detail::ready_kernels known;
    return known.prepare(kernel, config, device);
}

}  // namespace CATENA_NAMESPACE
