// The host executor as a device: what a launch needs as its `stream`. It knows the memory that
// kernels may touch, runs their blocks one after the other, and keeps what it found.
#pragma once

#include "catena/exec/host/thread.hpp"
#include "catena/exec/launch.hpp"

#include <algorithm>
#include <cfenv>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <map>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace CATENA_NAMESPACE {

/// A kernel on the host executor; `args` points to the skeleton's argument struct.
using host_kernel = void (*)(exec::host& x, const void* args);

}  // namespace CATENA_NAMESPACE

namespace CATENA_NAMESPACE::exec {

/// One at a time: launches on one device must not overlap. Devices are independent of each other.
class host_device {
  public:
    /// `seed` chooses the order in which blocks run and threads go on; 0 is the natural order.
    /// Equal seeds give equal runs; a correct kernel gives equal results for all seeds.
    explicit host_device(std::uint64_t seed = 0) : seed_(seed) {}
    /// Sets the seed of later launches.
    void set_seed(std::uint64_t seed) { seed_ = seed; }

    /// Declares global memory. Kernels may touch declared memory only. `base` need not be mapped
    /// where no kernel reads. Throws std::invalid_argument if the range is empty or meets another.
    void add(std::string name, const void* base, std::size_t bytes, memory kind) {
        machine_.memory.global.add(std::move(name), base, bytes, kind);
    }

    /// Allocates and declares n zeroed elements, 256-byte aligned, with undeclared margins. Lives
    /// as long as the device.
    template <class T>
    T* allocate(std::string name, std::size_t n, memory kind) {
        return static_cast<T*>(
            machine_.memory.global.allocate(std::move(name), n * sizeof(T), kind));
    }

    /// Ends a declaration made by `add`. False: no range starts there.
    bool remove(const void* base) { return machine_.memory.global.remove(base); }

    /// After the host wrote to, or gave up, bytes of a range that is not constant.
    void mark(const void* base, std::size_t bytes, bool initialized) {
        machine_.memory.global.mark(base, bytes, initialized);
    }

    /// What findings call a kernel.
    void name(host_kernel kernel, std::string label) {
        names_[reinterpret_cast<const void*>(kernel)] = std::move(label);
    }
    void name(const void* kernel, std::string label) { names_[kernel] = std::move(label); }

    /// From now on launches run these blocks only, and those of their clusters; an empty list: all.
    void run_only(std::vector<std::uint32_t> blocks) { only_ = std::move(blocks); }

    /// Findings of all launches since the last clear_findings().
    const std::vector<finding>& findings() const { return machine_.report.findings; }
    /// Forgets all findings.
    void clear_findings() { machine_.report.findings.clear(); }

    /// Runs a launch. False: it was stopped by the finding that is now the last.
    bool run(host_kernel kernel, const launch_config& config, const void* args) {
        const auto named = names_.find(reinterpret_cast<const void*>(kernel));
        kernel_ = kernel;
        args_ = args;
        machine_.begin_launch(named == names_.end() ? "unnamed" : named->second, config);
        std::vector<std::uint32_t> clusters = only_;
        for (std::uint32_t& block : clusters) block /= config.cluster;
        std::sort(clusters.begin(), clusters.end());
        clusters.erase(std::unique(clusters.begin(), clusters.end()), clusters.end());
        if (clusters.empty()) {
            clusters.resize(config.blocks / config.cluster);
            std::iota(clusters.begin(), clusters.end(), 0u);
        }
        order_seed(seed_).shuffle(clusters.data(), clusters.size());
        const ieee_arithmetic ieee;
        for (const std::uint32_t cluster : clusters) {
            if (cluster >= config.blocks / config.cluster) continue;
            // What the others store in the first block is there when it runs: it is the last.
            for (std::uint32_t rank = config.cluster; rank-- > 0;)
                if (!run_block(cluster * config.cluster + rank)) return false;
        }
        return true;
    }

  private:
    /// Round to nearest, nothing flushed, no traps; as long as it lives.
    struct ieee_arithmetic {
        std::fenv_t before;
        ieee_arithmetic() {
            std::fegetenv(&before);
            std::fesetenv(FE_DFL_ENV);
        }
        ~ieee_arithmetic() { std::fesetenv(&before); }
    };

    bool run_block(std::uint32_t block) {
        // A block alone goes its way as it does among others.
        const order_seed seed(seed_ == 0 ? 0 : seed_ + (std::uint64_t{block} << 32));
        return machine_.run_block(block, seed, &host_device::run_thread, this);
    }

    static void run_thread(boost::context::detail::transfer_t arrived) {
        auto& device = *static_cast<host_device*>(fiber::entered_from(arrived).owner);
        exec::thread& t = device.machine_.enter();
        try {
            host x(device.machine_, t);
            device.kernel_(x, device.args_);
        } catch (const std::exception& e) {
            device.machine_.report.stop(t, fault::body, {}, std::string("throws: ") + e.what());
        } catch (...) {
            device.machine_.report.stop(t, fault::body, {}, "throws");
        }
        device.machine_.leave(t);
    }

    machine machine_;
    std::uint64_t seed_;
    std::map<const void*, std::string> names_;
    std::vector<std::uint32_t> only_;
    host_kernel kernel_ = nullptr;
    const void* args_ = nullptr;
};

}  // namespace CATENA_NAMESPACE::exec
