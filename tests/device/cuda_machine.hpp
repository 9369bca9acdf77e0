// A GPU as a machine of the sweep. A launch is captured, as engines capture it, behind a kernel
// that it may overlap and that brings late what may be read after the grid wait: who does not wait
// reads poison, and what was written too early is lost.
#pragma once

#include "late.hpp"
#include "machine.hpp"

#include "catena/launch/prepare.cuh"

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <thread>

namespace catena_test {

class cuda_machine : public machine {
  public:
    ~cuda_machine() override {
        if (!broken().empty()) return;  // freeing would wait for a kernel that may never end
        for (void* block : blocks_) cudaFree(block);
    }

    /// What broke the context of this process: then nothing more can be run in it.
    static std::string& broken() {
        static std::string why;
        return why;
    }

    void* allocate(const std::string& name, contents kind, const bytes& initial,
                   std::size_t offset) override {
        std::byte* const to = reserve(name, initial.size() + offset) + offset;
        if (initial.empty()) return to;
        std::byte* now = to;
        if (kind != contents::weights) {
            now = reserve(name, initial.size());
            check(cudaMemset(to, 0xff, initial.size()), "poisoning " + name);
            late_.push_back({to, now, initial.size()});
        }
        check(cudaMemcpy(now, initial.data(), initial.size(), cudaMemcpyHostToDevice),
              "cudaMemcpy to " + name);
        return to;
    }

    bytes read(const void* from, std::size_t count) override {
        bytes out(count);
        check(cudaMemcpy(out.data(), from, count, cudaMemcpyDeviceToHost),
              "cudaMemcpy from the GPU");
        return out;
    }

    std::string launch(const void* kernel, const catena::launch_config& config, const void* args,
                       std::size_t args_bytes) override {
        const cudaStream_t on = stream();
        int device = 0;
        check(cudaGetDevice(&device), "asking for the device");
        if (const catena::status s = catena::prepare_cuda(kernel, config, device); !s.ok())
            return s.message;
        check(cudaStreamBeginCapture(on, cudaStreamCaptureModeGlobal), "beginning a capture");
        const cudaError_t before = write_late(late_, on);
        const catena::status launched = catena::launch_cuda(kernel, config, args, args_bytes, on);
        cudaGraph_t graph = nullptr;
        const cudaError_t captured = cudaStreamEndCapture(on, &graph);
        if (!launched.ok()) return launched.message;
        check(before, "launching what writes late");
        check(captured, "ending the capture");
        cudaGraphExec_t exec = nullptr;
        const cudaError_t made = cudaGraphInstantiate(&exec, graph, 0);
        check(cudaGraphDestroy(graph), "destroying the graph");
        if (made != cudaSuccess) return std::string("instantiating: ") + cudaGetErrorString(made);
        check(cudaGraphLaunch(exec, on), "launching the graph");
        broken() = wait(on);
        if (broken().empty()) check(cudaGraphExecDestroy(exec), "destroying the graph");
        return broken();
    }

  private:
    static void check(cudaError_t error, const std::string& what) {
        if (error != cudaSuccess) throw std::runtime_error(what + ": " + cudaGetErrorString(error));
    }

    static cudaStream_t stream() {
        static const cudaStream_t made = [] {
            cudaStream_t s = nullptr;  // it waits for the default one, which copies
            check(cudaStreamCreate(&s), "creating a stream");
            return s;
        }();
        return made;
    }

    /// What went wrong; empty if nothing did. A kernel that hangs is given up.
    static std::string wait(cudaStream_t on) {
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
        for (;;) {
            const cudaError_t state = cudaStreamQuery(on);
            if (state == cudaSuccess) return "";
            if (state != cudaErrorNotReady) return cudaGetErrorString(state);
            if (std::chrono::steady_clock::now() > end) return "the kernel did not end in a minute";
            std::this_thread::yield();
        }
    }

    /// So many bytes and no more: memcheck sees what lies beyond them.
    std::byte* reserve(const std::string& name, std::size_t count) {
        void* block = nullptr;
        check(cudaMalloc(&block, std::max<std::size_t>(count, 1)), "cudaMalloc of " + name);
        blocks_.push_back(block);
        return static_cast<std::byte*>(block);
    }

    std::vector<void*> blocks_;
    std::vector<late_write> late_;
};

}  // namespace catena_test
