// The GPUs of this machine, as the CUDA runtime reports them.
#include "gpus.hpp"

#include "catena/instances/for_device.hpp"

namespace catena::tool {
namespace {

seen_gpu look_at(int device) {
    seen_gpu seen;
    cudaDeviceProp properties{};
    if (const cudaError_t e = cudaGetDeviceProperties(&properties, device); e != cudaSuccess) {
        seen.why = std::string("the device cannot be asked: ") + cudaGetErrorString(e);
        return seen;
    }
    seen.name = properties.name;
    seen.compute_capability = 10 * properties.major + properties.minor;
    const table t = instances::for_device(device);
    seen.why = t.state.message;
    if (t.state.ok() && t.target != nullptr) seen.set = t.target->name;
    return seen;
}

}  // namespace

seen_cuda look_for_gpus() {
    seen_cuda seen;
    seen.built_in = true;
    (void)cudaRuntimeGetVersion(&seen.runtime);
    (void)cudaDriverGetVersion(&seen.driver);
    int count = 0;
    const cudaError_t found = cudaGetDeviceCount(&count);
    if (seen.driver == 0)
        seen.problem = "there is no driver for CUDA: install NVIDIA's driver";
    else if (seen.driver / 1000 < seen.runtime / 1000)
        seen.problem =
            "the driver is older than the CUDA that this command was built with: update the "
            "driver, or build with an older toolkit";
    else if (found != cudaSuccess)
        seen.problem = std::string("no GPU can be used: ") + cudaGetErrorString(found);
    for (int device = 0; device < count; ++device) seen.gpus.push_back(look_at(device));
    return seen;
}

}  // namespace catena::tool
