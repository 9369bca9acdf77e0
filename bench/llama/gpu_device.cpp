#include "ab_device.hpp"

#if defined(CATENA_PHASES)
#include "catena/instances/phases.hpp"
#endif

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

std::vector<std::string> phases_of_device() {
#if defined(CATENA_PHASES)
    return instances::phases_so_far();
#else
    throw std::runtime_error(
        "the kernels of this program keep no times: take llama_ab_phases, which "
        "scripts/llama-bench "
        "build makes beside it");
#endif
}

}  // namespace catena::ab
