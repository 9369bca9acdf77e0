// Cycles that a warp waits for what comes late: a word and 16 bytes of shared memory, and an mma of
// 8-bit integers whose sums the next one adds to.
#include "probe.cuh"

namespace catena::probe::stalls {

constexpr int steps = 512;

struct found {
    long long word, vector, mma;
    int last;
};

__global__ void wait(found* to) {
    __shared__ __align__(16) unsigned next[4096];
    for (unsigned i = threadIdx.x; i < 4096; i += 32) next[i] = (i + 128) % 4096;
    __syncwarp();

    unsigned at = threadIdx.x;
    long long begin = clock64();
    for (int s = 0; s < steps; ++s) at = *static_cast<volatile unsigned*>(next + at);
    to->word = clock64() - begin;

    unsigned others = 0;
    at = threadIdx.x * 4;
    begin = clock64();
    for (int s = 0; s < steps; ++s) {
        unsigned y, z, w;
        asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                     : "=r"(at), "=r"(y), "=r"(z), "=r"(w)
                     : "r"(unsigned(__cvta_generic_to_shared(next + at))));
        others ^= y ^ z ^ w;
    }
    to->vector = clock64() - begin;

    int d[4] = {};
    begin = clock64();
    for (int s = 0; s < steps; ++s)
        asm volatile(
            "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 "
            "{%0, %1, %2, %3}, {%4, %4, %4, %4}, {%4, %4}, {%0, %1, %2, %3};"
            : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
            : "r"(others));
    to->last = d[0] + d[1] + d[2] + d[3];  // before the clock is read, so that it waits
    __threadfence();
    to->mma = clock64() - begin;
}

void measure_stalls() {
    const shared_value<found> to;
    for (int i = 0; i < 2; ++i) wait<<<1, 32>>>(to.device());  // the first one loads its code
    const found f = to.get();
    const auto print = [](const char* of, long long cycles) {
        std::printf("{\"what\": \"stall\", \"of\": \"%s\", \"cycles\": %.1f}\n", of,
                    double(cycles) / steps);
    };
    print("shared memory, 4 bytes", f.word);
    print("shared memory, 16 bytes", f.vector);
    print("mma", f.mma);
}

const registered here{"stalls", "Cycles that a warp waits for shared memory and for an mma",
                      measure_stalls};

}  // namespace catena::probe::stalls
