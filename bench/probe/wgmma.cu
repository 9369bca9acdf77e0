// Cycles of one step of a warpgroup's multiplication, 64 x 128 x 64 of f16: with the fence between
// what threads write and what the tensor cores read and without it, while copies to shared memory
// are on their way and while none are.
#include "probe.cuh"

#include "catena/exec/cuda.cuh"

namespace catena::probe::wgmma {

constexpr int steps = 256, tile_bytes = (64 + 128) * exec::swizzled_row_bytes;

template <bool Fence, bool Copies>
__global__ void multiply(const uint4* from, long long* cycles, float* to) {
    extern __shared__ __align__(1024) unsigned char shared[];
    exec::cuda x;
    for (int i = x.thread(); i < 2 * tile_bytes / 4; i += x.threads())
        reinterpret_cast<unsigned*>(shared)[i] = 0;
    x.async_fence();
    x.sync();
    const exec::wgmma_operand a = x.operand_at(shared, exec::swizzle_bytes);
    const exec::wgmma_operand b =
        x.operand_at(shared + 64 * exec::swizzled_row_bytes, exec::swizzle_bytes);
    real sum[1][16][4] = {};
    const long long begin = clock64();
#pragma unroll 1
    for (int s = 0; s < steps; ++s) {
        if constexpr (Copies) {
            for (int i = x.thread(); i < tile_bytes / 16; i += x.threads())
                asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(
                                 unsigned(__cvta_generic_to_shared(shared + tile_bytes + i * 16))),
                             "l"(from + std::size_t(s) * (tile_bytes / 16) + i)
                             : "memory");
            asm volatile("cp.async.commit_group;" ::: "memory");
        }
        if constexpr (Fence) x.async_fence();
        x.wgmma_fence();
        for (int k = 0; k < exec::swizzled_row_bytes; k += 32)
            x.wgmma<format::f16>(sum[0], a + k, b + k);
        x.wgmma_commit();
        x.wgmma_wait<0>(sum);
        if constexpr (Copies) asm volatile("cp.async.wait_group 1;" ::: "memory");
    }
    if (x.thread() == 0) *cycles = clock64() - begin;
    float all = 0;
    for (int n = 0; n < 16; ++n)
        for (const real v : sum[0][n]) all += v.v;
    to[x.thread()] = all;
}

template <bool Fence, bool Copies>
void measure(const buffer& from) {
    check(cudaFuncSetAttribute(multiply<Fence, Copies>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               2 * tile_bytes),
          "asking for shared memory");
    const shared_value<long long> cycles;
    const buffer to(sizeof(float) * exec::warpgroup_threads);
    for (int i = 0; i < 2; ++i)  // the second one has its code in the caches
        multiply<Fence, Copies><<<1, exec::warpgroup_threads, 2 * tile_bytes>>>(
            reinterpret_cast<const uint4*>(from.data()), cycles.device(),
            reinterpret_cast<float*>(to.data()));
    std::printf("{\"what\": \"wgmma\", \"fence\": %s, \"copies\": %s, \"cycles_of_step\": %.1f}\n",
                Fence ? "true" : "false", Copies ? "true" : "false", double(cycles.get()) / steps);
}

void measure_wgmma() {
    const buffer from(std::size_t{steps} * tile_bytes);
    check(cudaMemset(from.data(), 0x5a, from.bytes()), "filling memory");
    measure<false, false>(from);
    measure<true, false>(from);
    measure<false, true>(from);
    measure<true, true>(from);
}

const registered here{"wgmma", "Cycles of one step of a warpgroup's multiplication", measure_wgmma};

}  // namespace catena::probe::wgmma
