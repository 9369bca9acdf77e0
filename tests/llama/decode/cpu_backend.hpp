// ggml's CPU backend, which may be a module.
#pragma once

#include <ggml-backend.h>

namespace catena_test {

/// On one thread.
inline ggml_backend_t new_cpu_backend() {
    ggml_backend_dev_t cpu = ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_CPU);
    ggml_backend_t out = ggml_backend_dev_init(cpu, nullptr);
    reinterpret_cast<ggml_backend_set_n_threads_t>(ggml_backend_reg_get_proc_address(
        ggml_backend_dev_backend_reg(cpu), "ggml_backend_set_n_threads"))(out, 1);
    return out;
}

}  // namespace catena_test
