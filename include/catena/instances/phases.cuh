// Matvecs that keep the times of their phases, in files compiled with CATENA_PHASES. A block's
// first thread keeps them in memory of its own and writes them when the block ends. The launch's
// result has the bits that it has without them. It takes longer: compare phases with each other.
#pragma once

#include "catena/instances/phases.hpp"
#include "catena/kernel/args.hpp"

#include <cuda_runtime.h>

#include <algorithm>
#include <stdexcept>

namespace CATENA_NAMESPACE::instances {

namespace {

/// The last blocks of a file's kernels: more than one launch has.
constexpr unsigned kept_blocks = 1u << 15;
__device__ timed_block blocks_of_file[kept_blocks];
__device__ unsigned blocks_so_far;

}  // namespace

/// `X` is an executor.
template <class X>
class timed : public X {
  public:
    __device__ void reached(kernel::phase at) {
        if (threadIdx.x != 0) return;
        unsigned long long now;
        asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
        ns_[static_cast<int>(at)] = now;
        cycles_[static_cast<int>(at)] = static_cast<unsigned long long>(clock64());
    }

    /// Nothing of a block that had no rows to multiply.
    __device__ void write(std::uint64_t name, const matvec_args& a) {
        if (threadIdx.x != 0 || ns_[static_cast<int>(kernel::phase::multiplied)] == 0) return;
        timed_block& to = blocks_of_file[atomicAdd(&blocks_so_far, 1u) % kept_blocks];
        to.name = name;
        to.weight = reinterpret_cast<std::uint64_t>(a.member[0].weight);
        to.block = static_cast<int>(blockIdx.x), to.blocks = static_cast<int>(gridDim.x);
        to.threads = static_cast<int>(blockDim.x);
        to.columns = a.columns, to.k = a.k, to.rows = 0;
        for (int m = 0; m < a.members; ++m) to.rows += a.member[m].rows;
        for (int i = 0; i < kernel::phase_count; ++i) to.ns[i] = ns_[i], to.cycles[i] = cycles_[i];
    }

  private:
    // Volatile, so that a time is taken where it is asked for. A kernel has a few registers more.
    volatile unsigned long long ns_[kernel::phase_count] = {};
    volatile unsigned long long cycles_[kernel::phase_count] = {};
};

namespace {

inline std::vector<timed_block> read_blocks_of_file() {
    unsigned count = 0;
    cudaError_t e = cudaDeviceSynchronize();
    if (e == cudaSuccess) e = cudaMemcpyFromSymbol(&count, blocks_so_far, sizeof(count));
    std::vector<timed_block> out(std::min(count, kept_blocks));
    if (e == cudaSuccess && !out.empty())
        e = cudaMemcpyFromSymbol(out.data(), blocks_of_file, out.size() * sizeof(timed_block));
    if (e != cudaSuccess)
        throw std::runtime_error(std::string("times of phases cannot be read: ") +
                                 cudaGetErrorString(e));
    return out;
}

[[maybe_unused]] const bool file_is_entered = [] {
    timed_kernels_of_program().files.push_back(&read_blocks_of_file);
    return true;
}();

}  // namespace

/// Enters a kernel's name.
#define CATENA_TIMED_KERNEL(symbol)                                                                \
    [[maybe_unused]] static const bool symbol##_is_entered = [] {                                  \
        ::catena::instances::timed_kernels_of_program()                                            \
            .names[::catena::instances::number_of(#symbol)] = #symbol;                             \
        return true;                                                                               \
    }();

}  // namespace CATENA_NAMESPACE::instances
