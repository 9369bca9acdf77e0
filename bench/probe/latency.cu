// How long a load takes: a chain of loads through memory and through L2 on an idle GPU, and through
// memory while all SMs read with so many bytes on their way.
#include "probe.cuh"

namespace catena::probe::latency {

constexpr unsigned line = 128 / sizeof(unsigned);

/// Each line has the number of the next one: all lines are one ring, in an order of chance. `lines`
/// is a power of two.
__global__ void link(unsigned* at, unsigned lines) {
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < lines; i += gridDim.x * blockDim.x)
        at[std::size_t{i} * line] = (i * 1664525u + 1013904223u) % lines;
}

__device__ unsigned long long nanoseconds() {
    unsigned long long ns;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns)::"memory");
    return ns;
}

struct found {
    double us = 0, streamed = 0;
    unsigned last = 0;
};

__device__ void chase(const unsigned* at, int steps, found* to) {
    unsigned i = to->last;
    const unsigned long long begin = nanoseconds();
    for (int s = 0; s < steps; ++s) i = __ldcg(at + std::size_t{i} * line);
    to->last = i;
    to->us = double(nanoseconds() - begin) * 1e-3 / steps;
}

__global__ void alone(const unsigned* at, int steps, found* to) { chase(at, steps, to); }

/// Block 0 chases, and the others read until it is done.
__global__ void beside_readers(const unsigned* at, int steps, const uint4* from, std::size_t n,
                               volatile int* done, found* to) {
    if (blockIdx.x == 0) {
        if (threadIdx.x != 0) return;
        chase(at, steps, to);
        *done = 1;
        return;
    }
    const std::size_t step = std::size_t{gridDim.x - 1} * blockDim.x;
    std::size_t i = std::size_t{blockIdx.x - 1} * blockDim.x + threadIdx.x;
    unsigned sum = 0;
    double read = 0;
    for (int turn = 1; turn % 16 != 0 || *done == 0; ++turn) {  // all ask one part of L2
        uint4 v[4];
#pragma unroll
        for (int u = 0; u < 4; ++u) v[u] = __ldcg(from + (i + u * step) % n);
#pragma unroll
        for (int u = 0; u < 4; ++u) sum += v[u].x ^ v[u].y ^ v[u].z ^ v[u].w;
        i = (i + 4 * step) % n;
        read += sizeof v;
    }
    if (sum == 0x9e3779b9u) to->last = sum;
    atomicAdd(&to->streamed, read);
}

void measure_latency() {
    constexpr unsigned lines = 1u << 22, lines_in_l2 = 1u << 16;
    constexpr int steps = 2048;
    const buffer ring(std::size_t{lines} * line * sizeof(unsigned));
    auto* at = reinterpret_cast<unsigned*>(ring.data());
    const shared_value<found> to;

    link<<<1024, 256>>>(at, lines);
    alone<<<1, 1>>>(at, steps, to.device());
    std::printf("{\"what\": \"latency\", \"of\": \"memory\", \"us\": %.4f}\n", to.get().us);

    const buffer arena(std::size_t{1} << 30);
    check(cudaMemset(arena.data(), 0x5a, arena.bytes()), "filling memory");
    const std::size_t n = arena.bytes() / sizeof(uint4);
    for (const int threads : {256, 512, 1024}) {
        const shared_value<found> loaded;
        const shared_value<int> done;
        beside_readers<<<unsigned(sms()), unsigned(threads)>>>(
            at, steps, reinterpret_cast<const uint4*>(arena.data()), n, done.device(),
            loaded.device());
        const found f = loaded.get();
        std::printf(
            "{\"what\": \"latency\", \"of\": \"busy memory\", \"in_flight_per_sm\": %d, "
            "\"us\": %.4f, \"bytes_per_us\": %.0f}\n",
            threads * 64, f.us, f.streamed / (f.us * steps));
    }

    link<<<1024, 256>>>(at, lines_in_l2);
    const shared_value<found> warm;
    alone<<<1, 1>>>(at, lines_in_l2, warm.device());
    alone<<<1, 1>>>(at, steps, warm.device());
    std::printf("{\"what\": \"latency\", \"of\": \"L2\", \"us\": %.4f}\n", warm.get().us);
}

const registered here{"latency",
                      "How long a load takes: of L2, of memory, and of memory that is busy",
                      measure_latency};

}  // namespace catena::probe::latency
