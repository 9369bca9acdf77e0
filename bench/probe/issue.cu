// Thread instructions that an SM issues in a cycle, by the number of its warps: half of them
// integer, half of them of floats, eight chains that do not wait for each other.
#include "probe.cuh"

namespace catena::probe::issue {

constexpr int turns = 512, pairs_of_turn = 64;

__global__ void issue(long long* cycles, unsigned* rarely) {
    unsigned x[4] = {threadIdx.x, 1, 2, 3};
    float f[4] = {float(threadIdx.x), 1, 2, 3};
    __syncthreads();
    const long long begin = clock64();
#pragma unroll 1
    for (int t = 0; t < turns; ++t) {
#pragma unroll
        for (int i = 0; i < pairs_of_turn; ++i) {
            asm volatile("lop3.b32 %0, %0, %1, 0x55555555, 0x96;" : "+r"(x[i % 4]) : "r"(t));
            asm volatile("fma.rn.f32 %0, %0, %0, 0f3F800000;" : "+f"(f[i % 4]));
        }
    }
    __syncthreads();
    if (threadIdx.x == 0) *cycles = clock64() - begin;
    if ((x[0] ^ x[1] ^ x[2] ^ x[3]) == 0x9e3779b9u && f[0] + f[1] + f[2] + f[3] == 42) *rarely = 1;
}

void measure_issue() {
    for (const int warps : {1, 2, 4, 8, 16, 32}) {
        const shared_value<long long> cycles;
        const shared_value<unsigned> rarely;
        for (int i = 0; i < 2; ++i)  // the second one has its code in the caches
            issue<<<1, unsigned(32 * warps)>>>(cycles.device(), rarely.device());
        const double instructions = 32.0 * warps * turns * pairs_of_turn * 2;
        std::printf("{\"what\": \"issue\", \"warps\": %d, \"per_cycle\": %.2f}\n", warps,
                    instructions / double(cycles.get()));
    }
}

const registered here{"issue", "Instructions that an SM issues in a cycle", measure_issue};

}  // namespace catena::probe::issue
