// What it costs that four blocks are a cluster and meet twice, and the cycles of one meeting:
// barriers that order memory, and relaxed ones.
#include "probe.cuh"

namespace catena::probe::cluster {

constexpr unsigned blocks = 4;

template <bool Relaxed>
__device__ void meet() {
    if constexpr (Relaxed)
        asm volatile("barrier.cluster.arrive.relaxed;\nbarrier.cluster.wait;" ::: "memory");
    else
        asm volatile("barrier.cluster.arrive;\nbarrier.cluster.wait;" ::: "memory");
}

template <bool Relaxed>
__global__ void meetings(int count, float* x, long long* cycles) {
    x[blockIdx.x * blockDim.x + threadIdx.x] += 1;  // a store that an ordering barrier waits for
    const long long begin = clock64();
    for (int i = 0; i < count; ++i) meet<Relaxed>();
    if (blockIdx.x + threadIdx.x == 0) *cycles = clock64() - begin;
}

template <bool Relaxed>
void launch(cudaStream_t stream, bool cluster, int count, float* x, long long* cycles) {
    cudaLaunchAttribute size{};
    size.id = cudaLaunchAttributeClusterDimension;
    size.val.clusterDim = {blocks, 1, 1};
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(unsigned(sms()) / blocks * blocks);
    config.blockDim = dim3(128);
    config.stream = stream;
    config.attrs = &size;
    config.numAttrs = cluster ? 1 : 0;
    check(cudaLaunchKernelEx(&config, meetings<Relaxed>, count, x, cycles), "launching");
}

template <bool Relaxed>
void measure(bool cluster) {
    constexpr int launches = 100, many = 256;
    const buffer x(sizeof(float) * 128 * std::size_t(sms()));
    check(cudaMemset(x.data(), 0, x.bytes()), "filling memory");
    auto* const at = reinterpret_cast<float*>(x.data());
    const shared_value<long long> cycles;
    const double us = median_us(
        {.launch = [&](cudaStream_t s,
                       int) { launch<Relaxed>(s, cluster, cluster ? 2 : 0, at, cycles.device()); }},
        launches);
    double of_one = 0;
    if (cluster) {
        launch<Relaxed>(nullptr, true, many, at, cycles.device());
        of_one = double(cycles.get()) / many;
    }
    std::printf(
        "{\"what\": \"cluster\", \"blocks\": %u, \"relaxed\": %s, \"us\": %.3f, "
        "\"cycles_of_meeting\": %.1f}\n",
        cluster ? blocks : 1, Relaxed ? "true" : "false", us, of_one);
}

void measure_cluster() {
    measure<false>(false);
    measure<false>(true);
    measure<true>(true);
}

const registered here{"cluster", "What it costs that four blocks are a cluster and meet",
                      measure_cluster};

}  // namespace catena::probe::cluster
