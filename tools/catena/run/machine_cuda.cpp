// A GPU as a machine. Buffers are whole allocations there: a model needs the memory that it needs.
#include "machine.hpp"

#include "../failure.hpp"
#include "../tables.hpp"
#include "operand_sets.hpp"

#include "catena/instances/for_device.hpp"

#include <cuda_runtime.h>

namespace catena::tool {
namespace {

constexpr std::size_t arena_bytes = std::size_t{4} << 30;

void expect(cudaError_t result, const std::string& what) {
    if (result != cudaSuccess) throw failure(what + ": " + cudaGetErrorString(result));
}

class gpu : public machine {
  public:
    gpu() { expect(cudaStreamCreate(&stream_), "a CUDA stream cannot be made"); }
    gpu(const gpu&) = delete;
    gpu& operator=(const gpu&) = delete;
    ~gpu() override {
        if (broken_) return;  // to free would wait for a kernel that may never end
        for (void* room : rooms_) cudaFree(room);
        cudaStreamDestroy(stream_);
    }

    std::string name() const override {
        cudaDeviceProp device{};
        expect(cudaGetDeviceProperties(&device, 0), "the device cannot be asked");
        return device.name;
    }

    table preferred() const override {
        const table t = instances::for_device(0);
        if (!t.state.ok()) throw failure(std::string(t.state.message) + "; or run with --host");
        return with_own(t);
    }

    table equip(const table& t) const override {
        if (t.kernels == nullptr || t.launch == nullptr)
            throw failure(std::string("the kernels of ") + t.target->name +
                          " are not in this build: configure it with CATENA_CUDA_ARCHS=" +
                          t.target->name + ", or run with --host");
        return t;
    }

    void* reserve(const std::string& name, std::size_t bytes,
                  const std::vector<byte_range>&) override {
        void* room = nullptr;
        expect(cudaMalloc(&room, bytes),
               name + ": " + std::to_string(bytes) + " bytes of device memory");
        rooms_.push_back(room);
        expect(cudaMemset(room, 0, bytes), name);
        return room;
    }

    void write(void* to, std::span<const std::byte> bytes) override {
        expect(cudaMemcpy(to, bytes.data(), bytes.size(), cudaMemcpyHostToDevice),
               "copy to the device");
    }

    void read(const void* from, std::span<std::byte> bytes) override {
        expect(cudaMemcpy(bytes.data(), from, bytes.size(), cudaMemcpyDeviceToHost),
               "copy from the device");
    }

    void* stream() override { return stream_; }
    void only(const std::vector<std::uint32_t>&) override {}

    std::string finish(const status& launched) override {
        if (!launched.ok()) return launched.message;
        const std::string why = bench::wait_for(stream_);
        broken_ = !why.empty();
        return why;
    }

    std::optional<tune::summary> time(const table& t, const step& s) override {
        cudaDeviceProp device{};
        expect(cudaGetDeviceProperties(&device, 0), "the device cannot be asked");
        const bench::buffer arena(arena_bytes);
        const auto sets = bench::operand_sets(s.what, s.band_rows, arena, device.l2CacheSize);
        if (sets.empty())
            throw failure("the operands do not fit into " + std::to_string(arena_bytes >> 30) +
                          " GiB of device memory: ask for a smaller shape");
        bench::fill(sets);
        const auto launches = bench::captured(t.launch, t.kernels[s.row], s.config, sets, stream_);
        std::vector<double> samples(33);
        for (double& us : samples) us = launches->by_events();
        return tune::summary_of(samples);
    }

    bool broken() const override { return broken_; }

  private:
    bool broken_ = false;
    cudaStream_t stream_ = nullptr;
    std::vector<void*> rooms_;
};

}  // namespace

std::unique_ptr<machine> cuda_machine() {
    int count = 0, driver = 0;
    const cudaError_t counted = cudaGetDeviceCount(&count);
    if (counted == cudaSuccess && count > 0) return std::make_unique<gpu>();
    if (cudaDriverGetVersion(&driver) == cudaSuccess && driver > 0 && counted != cudaErrorNoDevice)
        expect(counted,
               "there is a driver, but CUDA is not available (with --host it is not needed)");
    return nullptr;
}

}  // namespace catena::tool
