// The time of launches that read so many bytes which are not in L2: the bandwidth of a long one,
// and how much of that a short one reaches.
#include "probe.cuh"

namespace catena::probe::bandwidth {

/// The sum keeps the loads alive; it is stored only for one value in 2^32.
__global__ void read(const uint4* from, std::size_t n, unsigned* rarely) {
    unsigned sum = 0;
    const std::size_t step = std::size_t{gridDim.x} * blockDim.x;
#pragma unroll 4
    for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += step) {
        const uint4 v = from[i];
        sum += v.x ^ v.y ^ v.z ^ v.w;
    }
    if (sum == 0x9e3779b9u) *rarely = sum;
}

/// Launches that read `bytes` each, in turns from so many places.
double read_us(const buffer& arena, std::size_t bytes, int places, int launches) {
    const auto blocks = static_cast<unsigned>(sms() * 8);
    return median_us({.sets = places,
                      .launch =
                          [&](cudaStream_t s, int place) {
                              const std::byte* from = arena.data() + std::size_t(place) * bytes;
                              read<<<blocks, 256, 0, s>>>(
                                  reinterpret_cast<const uint4*>(from), bytes / sizeof(uint4),
                                  reinterpret_cast<unsigned*>(arena.data()));
                          }},
                     launches);
}

void measure_bandwidth() {
    const buffer arena(std::size_t{1} << 30);
    check(cudaMemset(arena.data(), 0x5a, arena.bytes()), "filling memory");
    const double l2 = device_says(cudaDevAttrL2CacheSize);
    for (const std::size_t mb : {1, 2, 5, 10, 20, 30, 60, 100, 200, 1000}) {
        const std::size_t bytes = mb * 1000 * 1000 / 16 * 16;
        const int sets = static_cast<int>(arena.bytes() / bytes);
        const int launches = std::max(4, bench::rotation(double(bytes), l2));
        std::printf("{\"what\": \"read\", \"bytes\": %zu, \"us\": %.3f}\n", bytes,
                    read_us(arena, bytes, sets, launches));
    }
    constexpr std::size_t of_l2 = 20 * 1000 * 1000;
    std::printf("{\"what\": \"read of L2\", \"bytes\": %zu, \"us\": %.3f}\n", of_l2,
                read_us(arena, of_l2, 1, 20));
}

const registered here{"bandwidth", "Times of launches that read so many bytes which are not in L2",
                      measure_bandwidth};

}  // namespace catena::probe::bandwidth
