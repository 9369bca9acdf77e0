#include "ab_device.hpp"

#include <stdexcept>

namespace catena::ab {

built build_facts() { return {CATENA_CUDA_VERSION, CATENA_COMMIT}; }

ggml_backend_dev_t measured_device() {
    ggml_backend_dev_t gpu = ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_GPU);
    if (gpu == nullptr)
        throw std::runtime_error(
            "ggml finds no GPU: run it on a machine where nvidia-smi lists one");
    return gpu;
}

}  // namespace catena::ab
