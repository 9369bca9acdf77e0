// Whether libggml-cuda-catena.so, which is ggml-cuda with Catena in it, is loaded where it lies. If
// it is not, it steps aside with one line in the log, and ggml looks for libggml-cuda.so.
#pragma once

#include "version.hpp"

#include "../catena-backend.hpp"
#include "catena/instances/for_device.hpp"

#include <cuda_runtime_api.h>

#include <filesystem>
#include <string>

namespace catena_drop_in {

inline int aside(const std::string& why) {
    GGML_LOG_WARN("catena: the drop-in steps aside: %s\n", why.c_str());
    return 0;
}

/// Why no GPU has kernels of Catena's; empty if one has.
inline std::string why_no_gpu() {
    int count = 0;
    if (const cudaError_t error = cudaGetDeviceCount(&count); error != cudaSuccess) {
        (void)cudaGetLastError();
        return cudaGetErrorString(error);
    }
    std::string why = count == 0 ? "CUDA has no GPU" : "";
    for (int i = 0; i < count; ++i) {
        const catena::status served = catena::instances::for_device(i).state;
        if (served.ok()) return "";
        why += (i == 0 ? "" : "; ") + std::string(served.message);
    }
    return why;
}

/// What ggml asks of each libggml-cuda-*.so: it loads the one that scores most, if any scores more
/// than 0. `mine` is the ggml that the drop-in was built for, `folder` is where the drop-in lies.
inline int score(const ggml_build& mine, const std::filesystem::path& folder) {
    const ggml_build here{ggml_version(), ggml_commit()};
    if (!is_same(mine, here))
        return aside("it was built for ggml " + mine.version + " (" + mine.commit +
                     "), and this is " + here.version + " (" + here.commit + ")");
    if (const std::string why = why_no_gpu(); !why.empty()) return aside(why);
    // Where there is no other ggml-cuda, the drop-in uses the GPU without Catena.
    const bool has_stock = std::filesystem::exists(folder / "libggml-cuda.so");
    return catena::ggml::is_wanted(catena::ggml::options_of_user()) || !has_stock ? 1 : 0;
}

}  // namespace catena_drop_in
