// A device of ggml for which llama.cpp does what it does for a GPU: its memory is hidden, and
// sizes of its buffers are those of ggml-cuda. It computes on the CPU: steps of Catena's plans for
// sm_90 on the host executor, all other nodes by ggml's CPU backend.
#pragma once

#include <ggml-backend.h>

#include <cstdint>
#include <string>

namespace catena_test {

/// What the device did since reset_work.
struct device_work {
    std::int64_t walks = 0, plans = 0, launches = 0;
    std::int64_t matmuls = 0;          ///< nodes with a quantized weight
    std::int64_t planned_matmuls = 0;  ///< of those: done by steps of plans
    std::string error;                 ///< of the first launch or plan that failed
};

/// The device, the same at each call.
ggml_backend_dev_t sm_90_device();

/// Buffers are full of NaN when they are allocated.
const device_work& work();
void reset_work();

}  // namespace catena_test
