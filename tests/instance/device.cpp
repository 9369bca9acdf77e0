// The same cases on a GPU, where there is one: every row of the set that runs there, against the
// reference and bit for bit against the host executor.
#include "host_machine.hpp"
#include "sweep.hpp"
#include "tables.hpp"

#include "catena/instances/for_device.hpp"
#include "catena_test/catch.hpp"

#include <cuda_runtime_api.h>

#include <iostream>
#include <stdexcept>

using namespace catena;

namespace {

void require(cudaError_t error) {
    if (error != cudaSuccess) throw std::runtime_error(cudaGetErrorString(error));
}

class device_machine : public catena_test::machine {
  public:
    explicit device_machine(launch_fn launch) : launch_(launch) {}
    device_machine(const device_machine&) = delete;
    device_machine& operator=(const device_machine&) = delete;
    ~device_machine() override {
        for (void* block : blocks_) (void)cudaFree(block);
    }

    void* allocate(const std::string&, catena_test::contents, const catena_test::bytes& initial,
                   std::size_t offset) override {
        void* block = nullptr;
        require(cudaMalloc(&block, initial.size() + offset));
        blocks_.push_back(block);
        void* to = static_cast<std::byte*>(block) + offset;
        require(cudaMemcpy(to, initial.data(), initial.size(), cudaMemcpyHostToDevice));
        return to;
    }

    catena_test::bytes read(const void* from, std::size_t count) override {
        catena_test::bytes out(count);
        require(cudaMemcpy(out.data(), from, count, cudaMemcpyDeviceToHost));
        return out;
    }

    std::string launch(const void* kernel, const launch_config& config, const void* args,
                       std::size_t args_bytes) override {
        const status done = launch_(kernel, config, args, args_bytes, nullptr);
        if (!done.ok()) return done.message;
        const cudaError_t error = cudaDeviceSynchronize();
        return error == cudaSuccess ? "" : cudaGetErrorString(error);
    }

  private:
    launch_fn launch_;
    std::vector<void*> blocks_;
};

bool has_device() {
    int count = 0;
    if (cudaGetDeviceCount(&count) == cudaSuccess && count > 0) return true;
    std::cout << "skipped: no CUDA device here\n";  // ctest looks for it
    return false;
}

/// Every `stride`-th row.
void sweep_device(int stride) {
    if (!has_device()) return;
    const table on_device = instances::for_device(0);
    INFO(on_device.state.message);
    REQUIRE(on_device.state.ok());
    const table on_host = instances::on_host(on_device);
    for (int i = 0; i < on_device.row_count; i += stride) {
        const row& r = on_device.rows[i];
        const std::string name = row_name(on_device, i);
        INFO(name);
        const catena_test::instance device{
            r.computes, r.numbers, on_device.kernels[i],
            [&on_device] { return std::make_unique<device_machine>(on_device.launch); },
            on_device.target->dependent_launch};
        const auto host = catena_test::on_host(r.computes, r.numbers, on_host.kernels[i], name);
        catena_test::sweep(device, &host);
    }
}

}  // namespace

TEST_CASE("Every row stands every case on the GPU, with the bits of the host executor",
          "[device]") {
    sweep_device(1);
}

TEST_CASE("Some rows, for compute-sanitizer", "[.][sanitize]") { sweep_device(3); }
