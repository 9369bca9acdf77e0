// What a record says about the machine: GPU, driver, toolkit, clocks and the date.
#pragma once

#include "record.hpp"
#include "today.hpp"

#include <cuda_runtime_api.h>

#include <cstdio>
#include <string>

namespace catena::bench {

/// 13000 -> "13.0"
inline std::string cuda_version(cudaError_t (*ask)(int*)) {
    int number = 0;
    if (ask(&number) != cudaSuccess) return "unknown";
    return std::to_string(number / 1000) + "." + std::to_string(number % 1000 / 10);
}

/// Asks nvidia-smi, which only reads, for driver and clocks; without it the driver is known by its
/// CUDA version and the clocks are 0.
inline measured_on state_of_gpu(const std::string& gpu) {
    measured_on m;
    m.gpu = gpu;
    m.driver = "of CUDA " + cuda_version(cudaDriverGetVersion);
    m.cuda = cuda_version(cudaRuntimeGetVersion);
    m.date = today();
    const char* ask =
        "nvidia-smi --id=0 --format=csv,noheader,nounits "
        "--query-gpu=driver_version,clocks.sm,clocks.mem 2>/dev/null";
    if (std::FILE* pipe = popen(ask, "r")) {
        char driver[64] = {};
        int sm = 0, memory = 0;
        if (std::fscanf(pipe, "%63[^,], %d, %d", driver, &sm, &memory) == 3) {
            m.driver = driver;
            m.sm_mhz = sm;
            m.memory_mhz = memory;
        }
        pclose(pipe);
    }
    return m;
}

}  // namespace catena::bench
