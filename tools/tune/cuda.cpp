// Compiles candidates with the generator's own code, loads them, checks them on random data and
// times graphs of them. It has been compiled, and not yet run: there was no GPU to run it on.
#include "cuda.hpp"

#include "compare.hpp"
#include "cuda_kernels.hpp"
#include "operand_sets.hpp"
#include "today.hpp"
#include "tuner.hpp"

#include "catena/launch/cuda.cuh"
#include "catena/launch/device.cuh"
#include "catena/pick/config.hpp"
#include "catena/pick/name.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <map>
#include <memory>
#include <stdexcept>
#include <thread>

namespace catena::tune {

namespace {

using generator::verdict;

constexpr std::size_t arena_bytes = std::size_t{4} << 30;

void expect(cudaError_t result, const std::string& what) {
    if (result != cudaSuccess) throw std::runtime_error(what + ": " + cudaGetErrorString(result));
}

std::string version(int number) {
    return std::to_string(number / 1000) + "." + std::to_string(number % 1000 / 10);
}

/// A candidate that is ready to be timed.
struct entrant {
    launch_config config;
    std::vector<bench::operands> sets;
    std::unique_ptr<bench::replay> launches;
};

class gpu : public timing_device {
  public:
    gpu(const arch& target, const cuda_options& how)
        : target_(of_device(target, 0)), kernels_(target, how), arena_(arena_bytes) {
        expect(cudaGetDeviceProperties(&device_, 0), "the device cannot be asked");
        expect(cudaStreamCreate(&stream_),
               "create a stream");  // it waits for the default one, which fills
    }
    ~gpu() override {
        entrants_.clear();
        cudaStreamDestroy(stream_);
    }

    tuned_on who() const override {
        int driver = 0, runtime = 0, sm_khz = 0, memory_khz = 0;
        expect(cudaDriverGetVersion(&driver), "driver version");
        expect(cudaRuntimeGetVersion(&runtime), "runtime version");
        expect(cudaDeviceGetAttribute(&sm_khz, cudaDevAttrClockRate, 0), "clock rate");
        expect(cudaDeviceGetAttribute(&memory_khz, cudaDevAttrMemoryClockRate, 0),
               "memory clock rate");
        return {device_.name,     "of CUDA " + version(driver),
                version(runtime), bench::today(),
                sm_khz / 1000,    memory_khz / 1000};
    }

    double now() override {
        return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
            .count();
    }

    std::optional<std::vector<prepared>> prepare(const tuned_problem& p, double deadline) override {
        entrants_.clear();
        std::vector<row> rows;
        for (const tuned_candidate& c : p.candidates)
            if (c.is == verdict::open) rows.push_back(row_of(p, c, 0));
        if (!kernels_.need(rows, [&] { return deadline - now(); })) return std::nullopt;
        std::vector<prepared> out(p.candidates.size());
        entrants_.resize(p.candidates.size());
        std::map<std::uint32_t, std::vector<std::vector<std::byte>>> of_order;
        bool filled = false;
        for (std::size_t i = 0; i < p.candidates.size(); ++i) {
            if (p.candidates[i].is != verdict::open) continue;
            const kernel& k = kernels_.of(row_of(p, p.candidates[i], 0));
            out[i] = {k.fault, k.registers, {}};
            if (!k.fault.empty()) continue;
            out[i].fault = deal(entrants_[i], p, p.candidates[i], out[i]);
            if (!out[i].fault.empty()) continue;
            if (!filled) {  // the others have the same operands at the same places
                bench::fill(entrants_[i].sets);
                filled = true;
            }
            const std::string name = row_name(p.computes, p.candidates[i].policy, target_.name);
            out[i].fault = launch(entrants_[i], k);
            if (const std::string why = bench::wait_for(stream_); !why.empty())
                throw device_broken(static_cast<int>(i), name + " on " + text(p.what) + ": " + why);
            if (!out[i].fault.empty()) continue;
            const auto results = results_of(entrants_[i]);
            const std::uint32_t order = order_of(p.candidates[i].policy);
            if (!of_order.empty()) {
                const auto same = of_order.find(order);
                const auto& reference =
                    same != of_order.end() ? same->second : of_order.begin()->second;
                const auto& outputs = entrants_[i].sets.front().outputs;
                for (std::size_t o = 0; o < outputs.size() && out[i].fault.empty(); ++o)
                    out[i].fault = difference(results[o], reference[o], outputs[o].type,
                                              same != of_order.end());
            }
            if (!out[i].fault.empty()) continue;
            of_order.emplace(order, results);
            entrants_[i].launches = bench::captured(launch_cuda, k.handle, entrants_[i].config,
                                                    entrants_[i].sets, stream_);
            if (now() > deadline) return std::nullopt;
        }
        return out;
    }

    std::optional<double> sample(int candidate, int, double deadline) override {
        const entrant& e = entrants_[static_cast<std::size_t>(candidate)];
        if (now() + 4 * slowest_s_ > deadline) return std::nullopt;
        const double start = now();
        double us = 0;
        try {
            us = e.launches->by_events();
        } catch (const std::runtime_error& broken) {
            throw device_broken(candidate, broken.what());
        }
        slowest_s_ = std::max(slowest_s_, now() - start);
        return us;
    }

  private:
    const arch target_;  // with the SMs that this device has
    cuda_kernels kernels_;
    bench::buffer arena_;
    cudaDeviceProp device_{};
    cudaStream_t stream_ = nullptr;
    std::vector<entrant> entrants_;
    double slowest_s_ = 0;

    row row_of(const tuned_problem& p, const tuned_candidate& c, int registers) const {
        return {.computes = p.computes,
                .policy = c.policy,
                .order = order_of(c.policy),
                .registers = registers,
                .evidence = {}};
    }

    /// The launch, and operands for each set; what is wrong if there is no room for one.
    std::string deal(entrant& e, const tuned_problem& p, const tuned_candidate& c, prepared& out) {
        const row r = row_of(p, c, out.registers);
        const int resident = std::max(1, blocks_per_sm(r, p.what, target_));
        out.shape = shape_of_launch(r, p.what, target_, resident);
        e.config = config_of(r, p.what, target_, out.shape);
        e.sets = bench::operand_sets(p.what, out.shape.band, arena_, device_.l2CacheSize);
        if (!e.sets.empty()) return "";
        return "its operands do not fit into " + std::to_string(arena_bytes >> 30) +
               " GiB of memory";
    }

    /// Once, over poison. What the GPU says when it refuses the launch.
    std::string launch(const entrant& e, const kernel& k) const {
        for (const bench::stretch& s : e.sets.front().outputs)
            expect(cudaMemset(s.at, 0xff, static_cast<std::size_t>(s.bytes)), "poison an output");
        return bench::launch(launch_cuda, k.handle, e.config, e.sets.front(), stream_).message;
    }

    static std::vector<std::vector<std::byte>> results_of(const entrant& e) {
        std::vector<std::vector<std::byte>> out;
        for (const bench::stretch& s : e.sets.front().outputs) {
            out.emplace_back(static_cast<std::size_t>(s.bytes));
            expect(cudaMemcpy(out.back().data(), s.at, out.back().size(), cudaMemcpyDeviceToHost),
                   "read a result");
        }
        return out;
    }
};

}  // namespace

std::string native_arch() {
    cudaDeviceProp device{};
    int count = 0, driver = 0;
    const cudaError_t counted = cudaGetDeviceCount(&count);
    if (cudaDriverGetVersion(&driver) == cudaSuccess && driver > 0 && counted != cudaErrorNoDevice)
        expect(counted, "there is a driver, but CUDA is not available");
    if (counted != cudaSuccess || count == 0) return "";
    if (cudaGetDeviceProperties(&device, 0) != cudaSuccess) return "";
    const served_gpu* how = served(device.major * 10 + device.minor);
    return how != nullptr ? how->set : "";
}

arch native_device(const arch& a) { return of_device(a, 0); }

std::unique_ptr<timing_device> cuda_device(const arch& target, const cuda_options& how) {
    const std::string native = native_arch();
    if (native != target.name)
        throw std::runtime_error(
            (native.empty() ? "there is no GPU here" : "the GPU here is " + native) +
            ", and candidates of " + target.name +
            " are timed on theirs: without it try --simulate SEED");
    if (std::system(("'" + how.compiler.nvcc + "' --version >/dev/null 2>&1").c_str()) != 0)
        throw std::runtime_error(
            how.compiler.nvcc +
            " cannot be run, and candidates have to be compiled: name it with --nvcc");
    return std::make_unique<gpu>(target, how);
}

}  // namespace catena::tune
