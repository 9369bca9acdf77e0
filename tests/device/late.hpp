// What a kernel in front of the tested one does: it lets its dependent start at once, and only then
// brings what that one may read after its grid wait.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <vector>

namespace catena_test {

struct late_write {
    void* to;
    const void* from;  ///< on the device
    std::size_t bytes;
};

/// Launches the kernel.
cudaError_t write_late(const std::vector<late_write>& writes, cudaStream_t stream);

/// Kernels that copy a float. The first waits, as it should; the others read or write before.
struct copied_float {
    const float* from;
    float* to;
};
extern const void* const copies_after_waiting;
extern const void* const reads_before_waiting;
extern const void* const writes_before_waiting;

}  // namespace catena_test
