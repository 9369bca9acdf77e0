// Copies of rows of a few hundred bytes into shared memory, with so many bytes on their way in each
// SM: bulk copies by one lane, bulk copies by 16 lanes, and cp.async. The bandwidth of all SMs, and
// the cycles that a warp takes to issue the copy of a row.
#include "probe.cuh"

#include <cuda/ptx>

namespace catena::probe::copies {

constexpr int warps = 2, stages = 4;
enum class way { one_lane, lanes_16, cp_async };
constexpr const char* names[] = {"one lane", "16 lanes", "cp.async"};

__device__ void bulk(void* to, const void* from, int bytes, std::uint64_t* full) {
    cuda::ptx::cp_async_bulk(cuda::ptx::space_cluster, cuda::ptx::space_global, to, from,
                             std::uint32_t(bytes), full);
}

/// One turn fills a stage of a warp's ring: `rows` rows that lie one behind the other.
template <way Way>
__device__ void issue(char* to, const char* from, int bytes, int rows, std::uint64_t* full) {
    const int lane = int(threadIdx.x % 32);
    if constexpr (Way == way::cp_async) {
        for (int at = lane * 16; at < rows * bytes; at += 32 * 16)
            asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(
                             unsigned(__cvta_generic_to_shared(to + at))),
                         "l"(__cvta_generic_to_global(from + at))
                         : "memory");
        asm volatile("cp.async.commit_group;" ::: "memory");
        return;
    }
    if (lane == 0)
        cuda::ptx::mbarrier_arrive_expect_tx(cuda::ptx::sem_release, cuda::ptx::scope_cta,
                                             cuda::ptx::space_shared, full,
                                             std::uint32_t(rows * bytes));
    __syncwarp();
    constexpr int lanes = Way == way::one_lane ? 1 : 16;
    for (int r = lane; r < rows && lane < lanes; r += lanes)
        bulk(to + r * bytes, from + r * bytes, bytes, full);
    __syncwarp();
}

template <way Way>
__global__ void copy(const char* from, std::size_t bytes_of_warp, int bytes, int rows,
                     long long* cycles) {
    extern __shared__ __align__(128) char ring[];
    __shared__ std::uint64_t full[warps][stages];
    const int warp = int(threadIdx.x / 32), stage_bytes = rows * bytes;
    char* mine = ring + warp * stages * stage_bytes;
    from += (std::size_t{blockIdx.x} * warps + std::size_t(warp)) * bytes_of_warp;
    if (threadIdx.x % 32 == 0) {
        for (int s = 0; s < stages; ++s) cuda::ptx::mbarrier_init(&full[warp][s], 1);
        cuda::ptx::fence_mbarrier_init(cuda::ptx::sem_release, cuda::ptx::scope_cluster);
    }
    __syncwarp();
    const int turns = int(bytes_of_warp / std::size_t(stage_bytes));
    long long issuing = 0;
    for (int t = 0; t < turns + stages; ++t) {
        const int s = t % stages;
        if (t >= stages) {
            if constexpr (Way == way::cp_async)
                asm volatile("cp.async.wait_group %0;" ::"n"(stages - 1) : "memory");
            else
                while (!cuda::ptx::mbarrier_try_wait_parity(&full[warp][s],
                                                            unsigned(t / stages - 1) & 1u)) {
                }
            __syncwarp();
        }
        const long long begin = clock64();
        if (t < turns)
            issue<Way>(mine + s * stage_bytes, from + std::size_t(t) * stage_bytes, bytes, rows,
                       &full[warp][s]);
        else if (Way == way::cp_async)
            asm volatile("cp.async.commit_group;" ::: "memory");
        issuing += clock64() - begin;
    }
    if (threadIdx.x + blockIdx.x == 0) *cycles = issuing / turns;
}

template <way Way>
void measure(const buffer& arena, int bytes, int in_flight) {
    constexpr std::size_t bytes_of_warp = std::size_t{1} << 20;
    const int rows = in_flight / (warps * stages * bytes);
    if (rows == 0) return;
    check(cudaFuncSetAttribute(copy<Way>, cudaFuncAttributeMaxDynamicSharedMemorySize, in_flight),
          "asking for shared memory");
    const shared_value<long long> cycles;
    const double us =
        median_us({.launch =
                       [&](cudaStream_t s, int) {
                           copy<Way><<<unsigned(sms()), 32 * warps, std::size_t(in_flight), s>>>(
                               reinterpret_cast<const char*>(arena.data()), bytes_of_warp, bytes,
                               rows, cycles.device());
                       }},
                  2);
    const double moved = double(bytes_of_warp) * warps * sms();
    std::printf(
        "{\"what\": \"copies\", \"by\": \"%s\", \"row_bytes\": %d, \"in_flight_per_sm\": %d, "
        "\"bytes_per_us\": %.0f, \"issue_cycles_of_row\": %.1f}\n",
        names[int(Way)], bytes, rows * bytes * warps * stages, moved / us,
        double(cycles.get()) / rows);
}

void measure_copies() {
    const buffer arena((std::size_t{1} << 20) * std::size_t(warps * sms()));
    check(cudaMemset(arena.data(), 0x5a, arena.bytes()), "filling memory");
    for (const int bytes : {288, 576, 1152, 2304, 4608})
        for (const int in_flight : {8, 16, 32, 64, 128}) {
            measure<way::one_lane>(arena, bytes, in_flight * 1024);
            measure<way::lanes_16>(arena, bytes, in_flight * 1024);
            measure<way::cp_async>(arena, bytes, in_flight * 1024);
        }
}

const registered here{"copies",
                      "Copies of short rows into shared memory: bandwidth, and cycles to issue one",
                      measure_copies};

}  // namespace catena::probe::copies
