// Watching a plan's launches: profiler ranges (launch/nvtx.cuh), per-step times (launch/timer.cuh),
// or whatever an engine wants to know.
#pragma once

#include "catena/error/status.hpp"

namespace CATENA_NAMESPACE {

class plan;

/// What a watched launch is.
struct launch_event {
    const plan* from;  ///< the plan that launches; valid during the call
    int step;          ///< index into plan::steps()
    const char* row;   ///< name of the instance; valid during the call
    void* stream;      ///< the argument of plan::launch
};

/// Called around each launch by the thread that launches. Null functions are left out; neither may
/// throw. `after` comes whether or not the launch succeeded.
struct observer {
    void (*before)(const launch_event& e, void* user) = nullptr;
    void (*after)(const launch_event& e, const status& result, void* user) = nullptr;
    void* user = nullptr;
};

}  // namespace CATENA_NAMESPACE
