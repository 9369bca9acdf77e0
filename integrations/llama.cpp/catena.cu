#include "catena.cuh"

#ifdef GGML_CUDA_CATENA
#include "catena-backend.hpp"
#include "catena/instances/for_device.hpp"
#include "catena/launch/timer.cuh"
#include "ggml-cuda.h"

namespace {

struct cuda_memory : catena::ggml::device_memory {
    ggml_backend_buffer_type_t type;
    explicit cuda_memory(int device) : type(ggml_backend_cuda_buffer_type(device)) {}

    bool reaches(ggml_backend_buffer_type_t other) const override { return other == type; }
    void* allocate(size_t bytes) override {
        void* memory = nullptr;
        if (cudaMalloc(&memory, bytes) == cudaSuccess) return memory;
        (void)cudaGetLastError();
        return nullptr;
    }
    void release(void* memory) override { CUDA_CHECK(cudaFree(memory)); }
};

}  // namespace

// Several devices of ggml-cuda can be one GPU.
static int number_for_cuda(int device) {
    int number = device;
    ggml_cuda_set_device(device);
    CUDA_CHECK(cudaGetDevice(&number));
    return number;
}

struct ggml_cuda_catena {
    cuda_memory memory;
    catena::ggml::planned_backend planned;
    catena::ggml::timed_walks<catena::step_timer> times;
    int visible_until = 0;  // where the nodes end that ggml-cuda's fusions may see

    ggml_cuda_catena(int device, const catena::table& rows, const catena::options& asked)
        : memory(device), planned(rows, asked, memory), times(asked) {}
};

ggml_cuda_catena* ggml_cuda_catena_init(int device) {
    const catena::options asked = catena::ggml::options_of_user();
    if (!catena::ggml::is_wanted(asked)) return nullptr;
    const catena::table rows = catena::instances::for_device(number_for_cuda(device));
    const catena::status served = catena::ggml::can_serve(rows, asked);
    if (!served.ok()) {
        GGML_LOG_WARN("catena: off: %s\n", served.message);
        return nullptr;
    }
    GGML_LOG_INFO("catena: device %d uses the kernels of %s\n", device, rows.target->name);
    return new ggml_cuda_catena(device, rows, asked);
}

void ggml_cuda_catena_free(ggml_cuda_catena* catena) { delete catena; }

void ggml_cuda_catena_optimize(ggml_cuda_catena* catena, ggml_cgraph* cgraph,
                               ggml_cuda_catena_keep keep, void* user) {
    if (catena != nullptr) catena->planned.optimize(cgraph, keep, user);
}

void ggml_cuda_catena_plan(ggml_cuda_catena* catena, ggml_cgraph* cgraph) {
    if (catena == nullptr) return;
    catena->times.end_walk();
    catena->planned.plan_for(cgraph);
    catena->visible_until = 0;
}

bool ggml_cuda_catena_did(ggml_cuda_catena* catena, int i, cudaStream_t stream) {
    if (catena == nullptr || catena->planned.at(i) == catena::role::engine) return false;
    const catena::status s = catena->planned.run(i, stream, catena->times.watch());
    if (!s.ok()) GGML_ABORT("catena: %s", s.message);
    return true;
}

ggml_cgraph ggml_cuda_catena_visible(ggml_cuda_catena* catena, const ggml_cgraph* cgraph, int i) {
    ggml_cgraph visible = *cgraph;
    if (catena == nullptr) return visible;
    int& until = catena->visible_until;
    if (until <= i)
        for (until = i + 1; until < cgraph->n_nodes; ++until)
            if (catena->planned.at(until) != catena::role::engine) break;
    visible.n_nodes = until;
    return visible;
}
#endif  // GGML_CUDA_CATENA
