// A case as a CUDA graph, and what its replays take: by events, or by the host's clock.
#pragma once

#include "measure.hpp"

#include <algorithm>
#include <chrono>
#include <functional>
#include <stdexcept>
#include <string>

namespace catena::bench {

/// A captured graph; its time is that of `parts` equal things.
class replay {
  public:
    replay(const std::function<void(cudaStream_t)>& launches, double parts, cudaStream_t stream)
        : parts_(parts), stream_(stream) {
        check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "begin capture");
        cudaGraph_t graph = nullptr;
        try {
            launches(stream);
        } catch (...) {  // the stream goes on with the next case
            cudaStreamEndCapture(stream, &graph);
            if (graph != nullptr) cudaGraphDestroy(graph);
            throw;
        }
        check(cudaStreamEndCapture(stream, &graph), "end capture");
        check(cudaGraphInstantiate(&exec_, graph, 0), "instantiate the graph");
        check(cudaGraphDestroy(graph), "destroy the graph");
        check(cudaEventCreate(&from_), "create an event");
        check(cudaEventCreate(&to_), "create an event");
    }
    replay(const replay&) = delete;
    replay& operator=(const replay&) = delete;
    ~replay() {
        cudaGraphExecDestroy(exec_);
        cudaEventDestroy(from_);
        cudaEventDestroy(to_);
    }

    double by_events() const { return replay_us(exec_, stream_, from_, to_) / parts_; }
    void queue() const { check(cudaGraphLaunch(exec_, stream_), "replay"); }
    /// The first time. Throws if it fails or hangs.
    void try_out() const {
        queue();
        if (const std::string why = wait_for(stream_); !why.empty()) throw std::runtime_error(why);
    }
    void wait() const { check(cudaStreamSynchronize(stream_), "synchronize"); }
    double parts() const { return parts_; }

  private:
    double parts_;
    cudaStream_t stream_;
    cudaGraphExec_t exec_ = nullptr;
    cudaEvent_t from_ = nullptr, to_ = nullptr;
};

inline constexpr int most_more = 12;  ///< what 16 replays are more than 4

/// As many more replays of `us` as take 10 ms.
inline int more_replays(double us) {
    return static_cast<int>(std::clamp(1e4 / std::max(us, 1.0), 1.0, double{most_more}));
}

/// Microseconds of one `queue` by the host's clock: what so many more of them take, so that
/// beginning and waiting cancel.
template <class Queue, class Wait>
double by_host_clock(int more, Queue&& queue, Wait&& wait) {
    const int few = std::max(1, more / 3);
    const auto run = [&](int times) {
        wait();
        const auto begin = std::chrono::steady_clock::now();
        for (int i = 0; i < times; ++i) queue();
        wait();
        return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin)
            .count();
    };
    const double few_us = run(few);
    return (run(few + more) - few_us) / more;
}

}  // namespace catena::bench
