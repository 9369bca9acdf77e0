// Devices of ggml for which llama.cpp does what it does for a GPU: their memory is hidden, and
// sizes of their buffers are those of ggml-cuda. They compute on the CPU: steps of Catena's plans
// for sm_90 on the host executor, all other nodes by ggml's CPU backend.
#pragma once

#include <ggml-backend.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace catena_test {

/// Devices of the same kind; each has memory of its own.
constexpr std::size_t gpu_count = 2;
ggml_backend_dev_t sm_90_device(std::size_t number = 0);

/// What the devices did since reset_work.
struct device_work {
    std::int64_t walks = 0, plans = 0;
    std::array<std::int64_t, gpu_count> launches{};  ///< by device
    std::int64_t matmuls = 0;          ///< nodes with a quantized weight, but for those that are
                                       ///< left to the engine on purpose
    std::int64_t planned_matmuls = 0;  ///< of those: done by steps of plans
    std::string error;                 ///< of the first launch that failed
};

/// Buffers are full of NaN when they are allocated.
const device_work& work();
void reset_work();

/// As long as it lives, `look` sees each node that is no step of a plan, once it is computed.
struct watched_nodes {
    watched_nodes(ggml_backend_sched_eval_callback look, void* looker);
    ~watched_nodes();
    watched_nodes(const watched_nodes&) = delete;
    watched_nodes& operator=(const watched_nodes&) = delete;
};

}  // namespace catena_test
