// The one way of timing launches on a GPU. launch/timer.hpp is another thing: it times the launches
// that an engine makes, each between two events, where nothing can be launched twice.
#pragma once

#include "measure.hpp"

#include <functional>
#include <stdexcept>
#include <string>

namespace catena::bench {

/// Times launches on a GPU, for the tuner, the command, the benchmarks and the probes: a CUDA graph
/// of many launches is replayed behind a replay of the same graph, so that launch gaps do not show.
/// Its time is that of `parts` equal things.
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
    /// So many launches of one thing, its input sets in turn.
    replay(const timed& what, int launches, cudaStream_t stream)
        : replay(
              [&](cudaStream_t on) {
                  for (int i = 0; i < launches; ++i) what.launch(on, i % what.sets);
              },
              launches, stream) {}
    replay(const replay&) = delete;
    replay& operator=(const replay&) = delete;
    ~replay() {
        cudaGraphExecDestroy(exec_);
        cudaEventDestroy(from_);
        cudaEventDestroy(to_);
    }

    /// Microseconds of one part.
    double by_events() const {
        check(cudaGraphLaunch(exec_, stream_), "warm replay");
        check(cudaEventRecord(from_, stream_), "record");
        check(cudaGraphLaunch(exec_, stream_), "replay");
        check(cudaEventRecord(to_, stream_), "record");
        check(cudaEventSynchronize(to_), "synchronize");
        float ms = 0;
        check(cudaEventElapsedTime(&ms, from_, to_), "elapsed time");
        return 1e3 * static_cast<double>(ms) / parts_;
    }
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

}  // namespace catena::bench
