// A GPU as a machine of the sweep.
#pragma once

#include "machine.hpp"

#include "catena/launch/cuda.cuh"

#include <stdexcept>

namespace catena_test {

class cuda_machine : public machine {
  public:
    ~cuda_machine() override {
        for (void* block : blocks_) cudaFree(block);
    }

    void* allocate(const std::string& name, contents, const bytes& initial,
                   std::size_t offset) override {
        void* block = nullptr;
        check(cudaMalloc(&block, initial.size() + offset + 1), "cudaMalloc of " + name);
        blocks_.push_back(block);
        std::byte* const to = static_cast<std::byte*>(block) + offset;
        check(cudaMemcpy(to, initial.data(), initial.size(), cudaMemcpyHostToDevice),
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
        const catena::status launched =
            catena::launch_cuda(kernel, config, args, args_bytes, nullptr);
        if (!launched.ok()) return launched.message;
        const cudaError_t ran = cudaDeviceSynchronize();
        return ran == cudaSuccess ? "" : cudaGetErrorString(ran);
    }

  private:
    static void check(cudaError_t error, const std::string& what) {
        if (error != cudaSuccess) throw std::runtime_error(what + ": " + cudaGetErrorString(error));
    }

    std::vector<void*> blocks_;
};

}  // namespace catena_test
