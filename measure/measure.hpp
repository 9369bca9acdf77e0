// What is timed on a GPU, and device memory for it. replay.hpp times it.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>

namespace catena::bench {

inline void check(cudaError_t error, const std::string& what) {
    if (error != cudaSuccess) throw std::runtime_error(what + ": " + cudaGetErrorString(error));
}

/// Device memory that lives as long as the value.
class buffer {
  public:
    explicit buffer(std::size_t bytes) : bytes_(bytes) {
        check(cudaMalloc(&data_, bytes), "cudaMalloc of " + std::to_string(bytes) + " bytes");
    }
    ~buffer() { cudaFree(data_); }
    buffer(const buffer&) = delete;
    buffer& operator=(const buffer&) = delete;

    std::byte* data() const { return static_cast<std::byte*>(data_); }
    std::size_t bytes() const { return bytes_; }

  private:
    void* data_ = nullptr;
    std::size_t bytes_ = 0;
};

/// Something to time. `launch(stream, set)` launches it once on its input set number `set`.
struct timed {
    std::string name;
    double bytes = 0;  ///< that one launch must move
    int sets = 1;      ///< input sets that it rotates through
    std::function<void(cudaStream_t, int)> launch;
};

/// Input sets of `bytes` each that together are well beyond an L2 cache of `l2_bytes`.
inline int rotation(double bytes, double l2_bytes) {
    return static_cast<int>(std::clamp(4 * l2_bytes / std::max(bytes, 1.0), 2.0, 4096.0));
}

/// What went wrong with what a stream was given; empty if nothing did. What hangs is given up.
inline std::string wait_for(cudaStream_t stream) {
    for (const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);;) {
        const cudaError_t state = cudaStreamQuery(stream);
        if (state == cudaSuccess) return "";
        if (state != cudaErrorNotReady) return cudaGetErrorString(state);
        if (std::chrono::steady_clock::now() > end) return "it did not end in 20 s";
        std::this_thread::yield();
    }
}

}  // namespace catena::bench
