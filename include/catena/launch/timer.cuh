// GPU time per step: CUDA events around every launch.
//     catena::step_timer timer;
//     const catena::observer watch = timer.watch();
//     plan.launch(i, stream, workspace, &watch);   // for every node
//     timer.end_walk();                            // behind the last
//     for (const catena::walk_times& of_graph : timer.report().walks) ...
// The events stand between the launches, so nothing overlaps while it is timed, and a short step
// also shows the gap to the next: compare steps with each other, not with a whole token.
#pragma once

#include "catena/launch/cuda.cuh"
#include "catena/launch/timer.hpp"

namespace CATENA_NAMESPACE {

/// The clock of a GPU, for basic_step_timer. Its functions fail with what CUDA says, and `record`
/// in a stream that is being captured.
struct cuda_clock {
    using event = cudaEvent_t;  ///< a place in a stream

    /// `error` as a status: `what` failed, and why.
    static status said(const char* what, cudaError_t error) {
        return error == cudaSuccess ? status{} : detail::cuda_failed(what, error);
    }

    /// Makes an event on the current device.
    status create(event& e) const { return said("creating an event", cudaEventCreate(&e)); }
    /// Gives back what `create` made.
    void destroy(event& e) const { (void)cudaEventDestroy(e); }

    /// Records `e` behind all that `stream`, a cudaStream_t, was given so far.
    status record(event& e, void* stream) const {
        const auto s = static_cast<cudaStream_t>(stream);
        cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
        if (const cudaError_t error = cudaStreamIsCapturing(s, &capture); error != cudaSuccess)
            return said("asking whether a stream is captured", error);
        if (capture != cudaStreamCaptureStatusNone)
            return failure(status_code::invalid_argument,
                           "the timer's stream is being captured, and events in a graph have no "
                           "times: launch the plan without capture to time it");
        return said("recording an event", cudaEventRecord(e, s));
    }

    /// Waits for `last`; `us` becomes the microseconds since `first`.
    status between(const event& first, const event& last, double& us) const {
        if (const cudaError_t error = cudaEventSynchronize(last); error != cudaSuccess)
            return said("waiting for an event", error);
        float ms = 0;
        const status out = said("reading two events", cudaEventElapsedTime(&ms, first, last));
        us = 1e3 * static_cast<double>(ms);
        return out;
    }
};

/// The timer of a GPU: it belongs to the device that is current when it first watches a launch.
using step_timer = basic_step_timer<cuda_clock>;

}  // namespace CATENA_NAMESPACE
