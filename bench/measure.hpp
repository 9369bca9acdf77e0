// Timing of short kernels: a CUDA graph of many launches whose inputs rotate beyond the L2 cache,
// replayed behind a backlog so that launch gaps do not show. Cases are measured in turns, so that
// clocks and heat fall on all alike.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

namespace catena::bench {

inline void check(cudaError_t error, const char* what) {
    if (error == cudaSuccess) return;
    std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(error));
    std::exit(1);
}

/// Device memory that lives as long as the value.
class buffer {
  public:
    explicit buffer(std::size_t bytes) : bytes_(bytes) {
        check(cudaMalloc(&data_, bytes), "cudaMalloc");
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

struct timing {
    double median_us = 0;
    double spread = 0;  ///< half the distance of the quartiles, relative to the median
};

/// Input sets of `bytes` each that together are well beyond an L2 cache of `l2_bytes`.
inline int rotation(double bytes, double l2_bytes) {
    return static_cast<int>(std::clamp(4 * l2_bytes / std::max(bytes, 1.0), 2.0, 4096.0));
}

/// A graph of so many launches of one thing, its input sets in turn.
inline cudaGraphExec_t capture(const timed& what, int launches, cudaStream_t stream) {
    check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "begin capture");
    for (int i = 0; i < launches; ++i) what.launch(stream, i % what.sets);
    cudaGraph_t graph = nullptr;
    check(cudaStreamEndCapture(stream, &graph), "end capture");
    cudaGraphExec_t exec = nullptr;
    check(cudaGraphInstantiate(&exec, graph, 0), "instantiate the graph");
    check(cudaGraphDestroy(graph), "destroy the graph");
    return exec;
}

/// Microseconds of one replay that stands behind another one.
inline double replay_us(cudaGraphExec_t exec, cudaStream_t stream, cudaEvent_t from,
                        cudaEvent_t to) {
    check(cudaGraphLaunch(exec, stream), "warm replay");
    check(cudaEventRecord(from, stream), "record");
    check(cudaGraphLaunch(exec, stream), "replay");
    check(cudaEventRecord(to, stream), "record");
    check(cudaEventSynchronize(to), "synchronize");
    float ms = 0;
    check(cudaEventElapsedTime(&ms, from, to), "elapsed time");
    return 1e3 * static_cast<double>(ms);
}

namespace detail {

inline timing summary(std::vector<double> us) {
    std::sort(us.begin(), us.end());
    const auto at = [&](double share) {
        return us[static_cast<std::size_t>(share * double(us.size() - 1))];
    };
    return {at(0.5), (at(0.75) - at(0.25)) / 2 / at(0.5)};
}

}  // namespace detail

/// Times every case in `rounds` turns; entry i is what one launch of cases[i] takes.
inline std::vector<timing> measure(const std::vector<timed>& cases, int rounds) {
    cudaStream_t stream = nullptr;
    check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "create a stream");
    cudaEvent_t from = nullptr, to = nullptr;
    check(cudaEventCreate(&from), "create an event");
    check(cudaEventCreate(&to), "create an event");

    std::vector<int> launches;
    std::vector<cudaGraphExec_t> graphs;
    for (const timed& c : cases) {
        launches.push_back(std::max(64, c.sets));
        graphs.push_back(capture(c, launches.back(), stream));
    }
    std::vector<std::vector<double>> samples(cases.size());
    for (int round = 0; round < rounds; ++round)
        for (std::size_t i = 0; i < cases.size(); ++i)
            samples[i].push_back(replay_us(graphs[i], stream, from, to) / launches[i]);

    std::vector<timing> result;
    for (auto& of_case : samples) result.push_back(detail::summary(std::move(of_case)));
    for (cudaGraphExec_t g : graphs) check(cudaGraphExecDestroy(g), "destroy a graph");
    check(cudaEventDestroy(from), "destroy an event");
    check(cudaEventDestroy(to), "destroy an event");
    check(cudaStreamDestroy(stream), "destroy a stream");
    return result;
}

}  // namespace catena::bench
