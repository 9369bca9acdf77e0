#include "backend.hpp"

#include "forward.hpp"
#include "kernels.hpp"

#include <memory>
#include <utility>

namespace catena_plugin {
namespace {

struct backend {
    ggml_backend_t wrapped;
    std::unique_ptr<kernels> beside;
    catena::ggml::planned_backend planned;

    backend(ggml_backend_t w, std::unique_ptr<kernels> k, const served_device& d)
        : wrapped(w), beside(std::move(k)), planned(d.rows, d.asked, *beside) {}
};
backend& of(ggml_backend_t b) { return *static_cast<backend*>(b->context); }
served_device& of(ggml_backend_dev_t d) { return *static_cast<served_device*>(d->context); }

void free_backend(ggml_backend_t b) {
    ggml_backend_t wrapped = of(b).wrapped;
    ggml_backend_synchronize(wrapped);
    delete &of(b);
    ggml_backend_free(wrapped);
    delete b;
}

// A ggml that has more functions wants them passed on, too.
constexpr std::size_t functions_of_backend = 16, functions_of_device = 15;
static_assert(sizeof(ggml_backend_i) == functions_of_backend * sizeof(void (*)()));
static_assert(sizeof(ggml_backend_device_i) == functions_of_device * sizeof(void (*)()));

/// Views and empty tensors are no work.
bool has_work(const ggml_cgraph& nodes) {
    for (int i = 0; i < nodes.n_nodes; ++i)
        if (!ggml_is_empty(nodes.nodes[i]) && !ggml_op_is_empty(nodes.nodes[i]->op)) return true;
    return false;
}

/// Runs of nodes go to the wrapped backend as graphs of their own, so it fuses nothing beyond them.
ggml_status walk(backend& b, ggml_cgraph* graph) {
    bool launched = false;  // something that the wrapped backend does not yet wait for
    for (int i = 0; i < graph->n_nodes;) {
        if (b.planned.at(i) != catena::role::engine) {
            const bool launches = b.planned.at(i) == catena::role::launch;
            if (launches && !std::exchange(launched, true)) b.beside->wait_for_engine();
            const catena::status ran = b.planned.run(i++, b.beside->stream());
            if (ran.ok()) continue;
            GGML_LOG_ERROR("catena: %s%s\n", ran.message, b.beside->findings().c_str());
            b.beside->let_engine_wait();
            return GGML_STATUS_FAILED;
        }
        const int first = i;
        while (i < graph->n_nodes && b.planned.at(i) == catena::role::engine) ++i;
        ggml_cgraph run = ggml_graph_view(graph, first, i);
        if (!has_work(run)) continue;
        if (std::exchange(launched, false)) b.beside->let_engine_wait();
        const ggml_status done = ggml_backend_graph_compute_async(b.wrapped, &run);
        if (done != GGML_STATUS_SUCCESS) return done;
    }
    if (launched) b.beside->let_engine_wait();
    return GGML_STATUS_SUCCESS;
}

ggml_status compute(ggml_backend_t outer, ggml_cgraph* graph) {
    backend& b = of(outer);
    const catena::plan* plan = b.planned.plan_for(graph);
    if (plan == nullptr || plan->steps().size() == 0)
        return ggml_backend_graph_compute_async(b.wrapped, graph);
    b.beside->begin(*graph);
    const ggml_status done = walk(b, graph);
    b.beside->end();
    return done;
}

void optimize(ggml_backend_t outer, ggml_cgraph* graph,
              ggml_backend_graph_optimize_params* params) {
    backend& b = of(outer);
    b.planned.optimize(graph, params->add_alloc_dep, params->user_data);
    if (b.wrapped->iface.graph_optimize != nullptr)
        b.wrapped->iface.graph_optimize(b.wrapped, graph, params);
}

bool copy(ggml_backend_t from, ggml_backend_t to, const ggml_tensor* source, ggml_tensor* target) {
    ggml_backend_t inner = wrapped_by(to);
    return inner->iface.cpy_tensor_async(wrapped_by(from), inner, source, target);
}

ggml_backend_i backend_functions(const ggml_backend_i& wrapped) {
    using i = ggml_backend_i;
    ggml_backend_i f{};
    forward<&i::get_name, &i::set_tensor_async, &i::get_tensor_async, &i::set_tensor_2d_async,
            &i::get_tensor_2d_async, &i::synchronize, &i::graph_plan_create, &i::graph_plan_free,
            &i::graph_plan_update, &i::graph_plan_compute, &i::event_record, &i::event_wait>(
        f, wrapped);
    if (wrapped.cpy_tensor_async != nullptr) f.cpy_tensor_async = copy;
    f.free = free_backend;
    f.graph_compute = compute;
    f.graph_optimize = optimize;
    return f;
}

ggml_backend_t new_backend(ggml_backend_dev_t outer, const char* params) {
    static ggml_guid id{0xca, 0x7e, 0x4a, 0x01};
    const served_device& d = of(outer);
    ggml_backend_t wrapped = ggml_backend_dev_init(d.wrapped, params);
    if (wrapped == nullptr) return nullptr;
    std::unique_ptr<kernels> beside = kernels_beside(wrapped, d.rows);
    if (beside == nullptr) {
        GGML_LOG_WARN("catena: off: no room for a stream on %s\n", ggml_backend_dev_name(outer));
        wrapped->device = outer;  // llama.cpp looks for the device that it asked
        return wrapped;
    }
    GGML_LOG_INFO("catena: %s uses the kernels of %s\n", ggml_backend_dev_name(outer),
                  d.rows.target->name);
    return new ggml_backend{&id, backend_functions(wrapped->iface), outer,
                            new backend(wrapped, std::move(beside), d)};
}

}  // namespace

ggml_backend_dev_t wrapped_by(ggml_backend_dev_t device) {
    return device->iface.init_backend == new_backend ? of(device).wrapped : device;
}
ggml_backend_t wrapped_by(ggml_backend_t backend) {
    return backend->iface.free == free_backend ? of(backend).wrapped : backend;
}

ggml_backend_device_i device_functions(const ggml_backend_device_i& wrapped) {
    using i = ggml_backend_device_i;
    ggml_backend_device_i f{};
    forward<&i::get_name, &i::get_description, &i::get_memory, &i::get_type, &i::get_props,
            &i::get_buffer_type, &i::get_host_buffer_type, &i::buffer_from_host_ptr,
            &i::supports_op, &i::supports_buft, &i::offload_op, &i::event_new, &i::event_free,
            &i::event_synchronize>(f, wrapped);
    f.init_backend = new_backend;
    return f;
}

}  // namespace catena_plugin
