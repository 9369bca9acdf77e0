// The instructions of PTX for bulk copies that a barrier in shared memory counts, from sm_90 on.
// <cuda/ptx> has them among all others, and takes nvcc a second to read.
#pragma once

#include <cstdint>

// Where a bulk copy goes. sm_90's nvcc may not know the shared memory of the own block (PTX 8.6),
// and needs no instruction more. sm_120's would test whether the place is in this block.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 1200
#define CATENA_OWN_SHARED ".shared::cta"
#else
#define CATENA_OWN_SHARED ".shared::cluster"
#endif

namespace CATENA_NAMESPACE::exec {

/// A barrier whose phase ends when its one arrival and the announced bytes have come.
class mbarrier {
  public:
    __device__ explicit mbarrier(const std::uint64_t* place)
        : place_(static_cast<unsigned>(__cvta_generic_to_shared(place))) {}

    __device__ void init() const {
        asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(place_) : "memory");
    }
    /// Bulk copies come through another proxy: behind this it sees the barriers.
    __device__ static void fence_init() {
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __device__ std::uint64_t arrive_and_expect(std::uint32_t bytes) const {
        std::uint64_t state;
        asm volatile("mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 %0, [%1], %2;"
                     : "=l"(state)
                     : "r"(place_), "r"(bytes)
                     : "memory");
        return state;
    }
    /// Has the phase of this parity ended?
    __device__ bool try_wait(std::uint32_t parity) const {
        int ended;
        asm volatile(
            "{\n.reg .pred ended;\n"
            "mbarrier.try_wait.parity.shared::cta.b64 ended, [%1], %2;\n"
            "selp.b32 %0, 1, 0, ended;\n}"
            : "=r"(ended)
            : "r"(place_), "r"(parity)
            : "memory");
        return ended != 0;
    }
    /// Copies multiples of 16 bytes, and counts them.
    __device__ void copy(void* shared, const void* global, std::uint32_t bytes) const {
        asm volatile("cp.async.bulk" CATENA_OWN_SHARED
                     ".global.mbarrier::complete_tx::bytes [%0], [%1], %2, "
                     "[%3];" ::"r"(static_cast<unsigned>(__cvta_generic_to_shared(shared))),
                     "l"(__cvta_generic_to_global(global)), "r"(bytes), "r"(place_)
                     : "memory");
    }

  private:
    unsigned place_;  // in shared memory
};

/// Orders what this thread did with shared memory before bulk copies that come behind.
__device__ inline void fence_proxy_async() {
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

}  // namespace CATENA_NAMESPACE::exec

#undef CATENA_OWN_SHARED
