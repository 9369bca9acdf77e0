// A hundred launches in a CUDA graph, with programmatic launch and without: empty ones, matvecs,
// and matvecs with a row step between them. The share of L1 that is shared memory is CUDA's choice,
// or all for every kernel.
#include "probe.cuh"

namespace catena::probe::graph {

constexpr int launches = 100;
constexpr std::size_t weights = 5 * 1000 * 1000 / 16;  // vectors of a matvec
constexpr std::size_t shared_bytes = 96 * 1024;        // of a matvec; a row step has none

__device__ void let_next_begin() { asm volatile("griddepcontrol.launch_dependents;" ::: "memory"); }
__device__ void wait_for_last() { asm volatile("griddepcontrol.wait;" ::: "memory"); }

__global__ void empty(const uint4*, float*) {
    let_next_begin();
    wait_for_last();
}

__global__ void row_step(const uint4*, float* x) {
    let_next_begin();
    wait_for_last();
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    x[i] = x[i] * 0.5f + 1;
}

/// As in a matvec of Catena, the first weights are on their way before the last kernel has ended.
__global__ void matvec(const uint4* w, float* x) {
    extern __shared__ float ring[];
    const std::size_t step = std::size_t{gridDim.x} * blockDim.x;
    std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
    uint4 first[4] = {};
#pragma unroll
    for (int u = 0; u < 4; ++u, i += step)
        if (i < weights) first[u] = __ldcs(w + i);
    let_next_begin();
    wait_for_last();
    unsigned sum = 0;
#pragma unroll
    for (int u = 0; u < 4; ++u) sum += first[u].x ^ first[u].y ^ first[u].z ^ first[u].w;
    for (; i < weights; i += step) {
        const uint4 v = __ldcs(w + i);
        sum += v.x ^ v.y ^ v.z ^ v.w;
    }
    ring[threadIdx.x] = float(sum);
    __syncthreads();
    if (threadIdx.x == 0) x[blockIdx.x] += ring[1];
}

using kernel = void (*)(const uint4*, float*);

void launch(kernel k, cudaStream_t stream, bool early, const uint4* w, float* x) {
    cudaLaunchAttribute dependent{};
    dependent.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    dependent.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(k == matvec ? unsigned(sms()) : k == row_step ? 16 : 1);
    config.blockDim = dim3(k == empty ? 32 : 256);
    config.dynamicSmemBytes = k == matvec ? shared_bytes : 0;
    config.stream = stream;
    config.attrs = &dependent;
    config.numAttrs = early ? 1 : 0;
    check(cudaLaunchKernelEx(&config, k, w, x), "launching");
}

/// The first of the kernels gets the weights.
double us_of(const std::vector<kernel>& kernels, bool early, const buffer& arena, float* x) {
    const auto* w = reinterpret_cast<const uint4*>(arena.data());
    return median_us({.sets = launches,
                      .launch =
                          [&](cudaStream_t s, int i) {
                              for (const kernel k : kernels)
                                  launch(k, s, early, w + std::size_t(i) * weights, x);
                          }},
                     launches);
}

void measure_graph() {
    const buffer arena(launches * weights * 16), x(sizeof(float) * 4096);
    check(cudaMemset(arena.data(), 0x5a, arena.bytes()), "filling memory");
    check(cudaMemset(x.data(), 0, x.bytes()), "filling memory");
    check(cudaFuncSetAttribute(matvec, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               int(shared_bytes)),
          "asking for shared memory");
    for (const int carve_out :
         {int(cudaSharedmemCarveoutDefault), int(cudaSharedmemCarveoutMaxShared)}) {
        for (const kernel k : {empty, row_step, matvec})
            check(
                cudaFuncSetAttribute(k, cudaFuncAttributePreferredSharedMemoryCarveout, carve_out),
                "setting the carve-out");
        for (const bool early : {false, true}) {
            const auto print = [&](const char* of, const std::vector<kernel>& kernels) {
                std::printf(
                    "{\"what\": \"graph\", \"of\": \"%s\", \"programmatic\": %s, "
                    "\"carve_out\": %d, \"bytes\": %zu, \"us\": %.3f}\n",
                    of, early ? "true" : "false", carve_out,
                    kernels[0] == matvec ? weights * 16 : 0,
                    us_of(kernels, early, arena, reinterpret_cast<float*>(x.data())));
            };
            print("empty", {empty});
            print("matvec", {matvec});
            print("matvec and row step", {matvec, row_step});
        }
    }
}

const registered here{"graph",
                      "A hundred launches in a CUDA graph, with programmatic launch and without",
                      measure_graph};

}  // namespace catena::probe::graph
