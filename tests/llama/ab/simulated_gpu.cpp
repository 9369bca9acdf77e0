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

}  // namespace catena::ab
