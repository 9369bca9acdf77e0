// The executor that is a GPU: every call of exec/executor.hpp is an instruction or a few. What a
// launch on an older GPU lacks (bulk copies and the grid dependency before sm_90, cp.async before
// sm_80) is not compiled there; policies see to it that it is not asked for.
#pragma once

#include "catena/exec/cuda_stream.cuh"
#include "catena/exec/executor.hpp"
#include "catena/exec/wgmma.cuh"

#include <cstdint>
#include <type_traits>

namespace CATENA_NAMESPACE::exec {

class cuda {
  public:
    /// A shuffle's result is known to be equal in the warp: loops and branches on the warp's number
    /// then do not diverge, and what must not diverge within them needs no second version.
    __device__ cuda() : warp_(__shfl_sync(0xffffffffu, static_cast<int>(threadIdx.x / 32), 0)) {}

    __device__ int thread() const { return static_cast<int>(threadIdx.x); }
    __device__ int lane() const { return static_cast<int>(threadIdx.x % 32); }
    __device__ int warp() const { return warp_; }
    __device__ int threads() const { return static_cast<int>(blockDim.x); }
    __device__ int warps() const { return static_cast<int>(blockDim.x / 32); }
    __device__ int block() const { return static_cast<int>(blockIdx.x); }
    __device__ int blocks() const { return static_cast<int>(gridDim.x); }

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
    __device__ int cluster() const { return block(); }
    __device__ int cluster_rank() const { return 0; }
    __device__ int cluster_blocks() const { return 1; }
    __device__ void cluster_sync() const { sync(); }
    __device__ void cluster_meet() const {}
    __device__ void store_first(float* p, real v) const { store(p, v); }
#else
#define CATENA_SPECIAL(name)                                                                       \
    int value;                                                                                     \
    asm("mov.u32 %0, %%" name ";" : "=r"(value));                                                  \
    return value
    __device__ int cluster() const { CATENA_SPECIAL("clusterid.x"); }
    __device__ int cluster_rank() const { CATENA_SPECIAL("cluster_ctarank"); }
    __device__ int cluster_blocks() const { CATENA_SPECIAL("cluster_nctaid.x"); }
#undef CATENA_SPECIAL
    __device__ void cluster_sync() const {
        asm volatile("barrier.cluster.arrive;\nbarrier.cluster.wait;" ::: "memory");
    }
    __device__ void cluster_meet() const {
        asm volatile("barrier.cluster.arrive.relaxed;\nbarrier.cluster.wait;" ::: "memory");
    }
    __device__ void store_first(float* p, real v) const {
        asm volatile(
            "{\n.reg .b32 first;\n"
            "mapa.shared::cluster.u32 first, %0, 0;\n"
            "st.shared::cluster.f32 [first], %1;\n}" ::"r"(
                static_cast<unsigned>(__cvta_generic_to_shared(p))),
            "f"(v.v)
            : "memory");
    }
#endif

    __device__ void sync() const { __syncthreads(); }
    __device__ bool sync_any(bool says) const { return __syncthreads_or(says ? 1 : 0) != 0; }
    __device__ void sync_warp() const { __syncwarp(); }

    __device__ real shuffle_xor(real v, int mask) const {
        return {__shfl_xor_sync(0xffffffffu, v.v, mask)};
    }
    __device__ int shuffle_xor(int v, int mask) const {
        return __shfl_xor_sync(0xffffffffu, v, mask);
    }
    __device__ unsigned shuffle_xor(unsigned v, int mask) const {
        return __shfl_xor_sync(0xffffffffu, v, mask);
    }

    __device__ real shuffle(real v, int from) const {
        return {__shfl_sync(0xffffffffu, v.v, from)};
    }
    __device__ int shuffle(int v, int from) const { return __shfl_sync(0xffffffffu, v, from); }

    template <class T>
    __device__ T* shared(std::int64_t n) {
        extern __shared__ __align__(1024) unsigned char catena_shared[];
        auto* array = reinterpret_cast<T*>(catena_shared + shared_used_);
        shared_used_ +=
            (static_cast<unsigned>(n) * static_cast<unsigned>(sizeof(T)) + 15u) / 16u * 16u;
        return array;
    }

    template <class T>
    __device__ T load(const T* p) const {
        return *p;
    }
    __device__ real load(const float* p) const { return {*p}; }
    template <class T>
    __device__ void store(T* p, std::type_identity_t<T> v) const {
        *p = v;
    }
    __device__ void store(float* p, real v) const { *p = v.v; }
    __device__ word4 load16(const void* p) const {
        const uint4 v = *static_cast<const uint4*>(p);
        return {v.x, v.y, v.z, v.w};
    }
    __device__ void store16(void* p, word4 v) const {
        *static_cast<uint4*>(p) = make_uint4(v.x, v.y, v.z, v.w);
    }

    __device__ void prefetch(const void* p) const {
        asm volatile("prefetch.global.L2 [%0];" ::"l"(__cvta_generic_to_global(p)));
    }

    __device__ int dp4a(int a, int b, int c) const { return __dp4a(a, b, c); }
    __device__ int dp4a(unsigned a, int b, int c) const {
        int sum;
        asm("dp4a.u32.s32 %0, %1, %2, %3;" : "=r"(sum) : "r"(a), "r"(b), "r"(c));
        return sum;
    }
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 890
    __device__ unsigned halves_of_e4m3(unsigned pair) const {
        unsigned halves;
        asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(halves) : "h"(static_cast<std::uint16_t>(pair)));
        return halves;
    }
#endif
    __device__ unsigned funnel(unsigned lo, unsigned hi, unsigned bits) const {
        unsigned word;  // the toolkit's is volatile: nothing would be loaded once for two of them
        asm("shf.r.wrap.b32 %0, %1, %2, %3;" : "=r"(word) : "r"(lo), "r"(hi), "r"(bits));
        return word;
    }
    __device__ unsigned funnel_up(unsigned lo, unsigned hi, unsigned bits) const {
        unsigned word;
        asm("shf.l.wrap.b32 %0, %1, %2, %3;" : "=r"(word) : "r"(lo), "r"(hi), "r"(bits));
        return word;
    }
    __device__ unsigned permute(unsigned low, unsigned high, unsigned pick) const {
        unsigned r;
        asm("prmt.b32 %0, %1, %2, %3;" : "=r"(r) : "r"(low), "r"(high), "r"(pick));
        return r;
    }

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
    __device__ void mma(int (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2]) const {
        asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 "
            "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
            : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    }
    __device__ void mma(int (&d)[4], const unsigned (&a)[2], unsigned b) const {
        asm("mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32 "
            "{%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
            : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
            : "r"(a[0]), "r"(a[1]), "r"(b));
    }
#else
    // The fragments of m8n8k16 are the quarters of these.
    __device__ void mma(int (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2]) const {
        mma(d, {a[0], a[1]}, b[0]);
        mma(d, {a[2], a[3]}, b[1]);
    }
    __device__ void mma(int (&d)[4], const unsigned (&a)[2], unsigned b) const {
        mma_of_8_rows(d[0], d[1], a[0], b);
        mma_of_8_rows(d[2], d[3], a[1], b);
    }
#endif

    template <format F>
    __device__ void mma(real (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2]) const {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
        static_assert(F == format::f16, "before sm_80 tensor cores multiply halves alone");
        CATENA_UNROLL
        for (int i = 0; i < 2; ++i)
            asm("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 "
                "{%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
                : "+f"(d[0].v), "+f"(d[1].v), "+f"(d[2].v), "+f"(d[3].v)
                : "r"(a[2 * i]), "r"(a[2 * i + 1]), "r"(b[i]));
#else
#define CATENA_MMA(shape_and_types)                                                                \
    asm("mma.sync.aligned." shape_and_types                                                        \
        " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"                         \
        : "+f"(d[0].v), "+f"(d[1].v), "+f"(d[2].v), "+f"(d[3].v)                                   \
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]))
        if constexpr (F == format::f16) CATENA_MMA("m16n8k16.row.col.f32.f16.f16.f32");
        if constexpr (F == format::bf16) CATENA_MMA("m16n8k16.row.col.f32.bf16.bf16.f32");
        if constexpr (F == format::f32) CATENA_MMA("m16n8k8.row.col.f32.tf32.tf32.f32");
        if constexpr (F == format::fp8_e4m3) CATENA_MMA("m16n8k32.row.col.f32.e4m3.e4m3.f32");
#undef CATENA_MMA
#endif
    }

    template <class Row>
    __device__ void load_matrices(unsigned (&v)[4], Row row) const {
        const auto at = static_cast<unsigned>(__cvta_generic_to_shared(row(lane())));
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3])
                     : "r"(at)
                     : "memory");
    }

    __device__ wgmma_operand operand_at(const void* shared, int stride) const {
        return wgmma_operand::at(static_cast<unsigned>(__cvta_generic_to_shared(shared)), stride);
    }
    __device__ void async_fence() const { fence_proxy_async(); }
    __device__ void wgmma_fence() const { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
    __device__ void wgmma_commit() const {
        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    }
    template <int Left, int M, int N>
    __device__ void wgmma_wait(real (&sum)[M][N][4]) const {
        asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(Left) : "memory");
        CATENA_UNROLL
        for (int i = 0; i < M * N * 4; ++i)  // so that nobody reads them before
            asm volatile("" : "+f"(sum[i / N / 4][i / 4 % N][i % 4].v)::"memory");
    }
    template <format F, bool Adds = true, int N>
    __device__ void wgmma(real (&sum)[N][4], wgmma_operand a, wgmma_operand b) const {
        static_assert(
            N == 16 || (N == 8 && F == format::fp8_e4m3),
            "of 128 columns, and of 64 of fp8, instructions are given here: add another's");
        static_assert(Adds || F == format::fp8_e4m3, "sums of fp8 alone start here: add another's");
        if constexpr (F == format::f16) detail::wgmma_f16(sum, a, b);
        if constexpr (F == format::bf16) detail::wgmma_bf16(sum, a, b);
        if constexpr (F == format::fp8_e4m3 && Adds) detail::wgmma_e4m3(sum, a, b);
        if constexpr (F == format::fp8_e4m3 && !Adds) detail::wgmma_e4m3_alone(sum, a, b);
    }

    /// Waits until the kernel before this one has completed, wherever its trigger stood.
    __device__ void grid_wait() const {
#if __CUDA_ARCH__ >= 900
        asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
    }
    /// Lets the next dependent kernel be scheduled.
    __device__ void grid_trigger() const {
#if __CUDA_ARCH__ >= 900
        asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
    }

    template <copy_method M, int Stages>
    __device__ cuda_stream<M, Stages> stream() {
        return cuda_stream<M, Stages>(*this);
    }

  private:
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
    __device__ static void mma_of_8_rows(int& d0, int& d1, unsigned a, unsigned b) {
        asm("mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%0, %1}, {%2}, {%3}, {%0, %1};"
            : "+r"(d0), "+r"(d1)
            : "r"(a), "r"(b));
    }
#endif

    int warp_;
    unsigned shared_used_ = 0;
};

}  // namespace CATENA_NAMESPACE::exec
