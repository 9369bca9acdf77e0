#include "ab_device.hpp"
#include "device.hpp"

#include <dlfcn.h>

#include <cstdlib>
#include <stdexcept>

namespace catena::ab {
namespace {

/// A library that the environment names, loaded as CUDA's driver loads it.
void load_injected_library() {
    const char* const path = std::getenv("CUDA_INJECTION64_PATH");
    if (path == nullptr) return;
    void* const library = dlopen(path, RTLD_NOW);
    if (library == nullptr) throw std::runtime_error(dlerror());
    reinterpret_cast<int (*)()>(dlsym(library, "InitializeInjection"))();
}

}  // namespace

built build_facts() { return {"", ""}; }

ggml_backend_dev_t measured_device() {
    static const bool loaded = (load_injected_library(), true);
    (void)loaded;
    return catena_test::sm_90_device();
}

/// Two blocks of one launch that nobody ran.
std::vector<std::string> phases_of_device() {
    const std::string launch = " 2 128 1 4096 6144 4096",
                      times = " 1000 3000 4000 6000 6100 20000 21000";
    const std::string cycles = " 1000 5000 7000 11000 11200 39000 41000";
    return {"catena_matvec_q4_K_sm_90 0" + launch + times + cycles,
            "catena_matvec_q4_K_sm_90 1" + launch + times + cycles};
}

}  // namespace catena::ab
