#include "device.hpp"

#include "cpu_backend.hpp"

#include "catena/exec/host/device.hpp"
#include "catena/instances/on_host.hpp"
#include "catena/instances/sm_90.hpp"
#include "catena/plan/step.hpp"

#include <ggml-backend-impl.h>
#include <catena-backend.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <set>
#include <string>

namespace catena_test {
namespace {

constexpr std::size_t page = 4096, alignment = 128, gpu_memory = std::size_t{8} << 30;
constexpr std::uint8_t nan_byte = 0xff;  // of f32 and f16

device_work done;

struct {
    ggml_backend_sched_eval_callback look = nullptr;
    void* looker = nullptr;
} watch;

/// Who runs steps: one for all streams, since they share their memory.
catena::exec::host_device& machine() {
    static catena::exec::host_device one(7);
    return one;
}

/// The copies of K and V in f16 that ggml-cuda writes behind the result of an attention.
std::size_t scratch_bytes(const ggml_tensor* t) {
    if (t->op != GGML_OP_FLASH_ATTN_EXT) return 0;
    std::size_t bytes = 0;
    for (const ggml_tensor* s : {t->src[1], t->src[2]})
        if (s != nullptr && s->type != GGML_TYPE_F16)
            bytes += sizeof(ggml_fp16_t) * static_cast<std::size_t>(ggml_nelements(s));
    return bytes;
}

/// Buffers that libllama has not yet said to be of weights.
std::set<ggml_backend_buffer_t>& buffers_of_values() {
    static std::set<ggml_backend_buffer_t> all;
    return all;
}

/// What a buffer is for is told after it was allocated. Steps read weights before they wait for
/// the step before, so the machine must know that nothing writes them.
void declare_weights() {
    std::set<ggml_backend_buffer_t>& values = buffers_of_values();
    for (auto b = values.begin(); b != values.end();) {
        if ((*b)->usage != GGML_BACKEND_BUFFER_USAGE_WEIGHTS) {
            ++b;
            continue;
        }
        machine().remove((*b)->context);
        machine().add("weights", (*b)->context, (*b)->size, catena::exec::memory::constant);
        b = values.erase(b);
    }
}

const ggml_backend_buffer_i buffer_functions = [] {
    ggml_backend_buffer_i f{};
    f.free_buffer = [](ggml_backend_buffer_t b) {
        machine().remove(b->context);
        buffers_of_values().erase(b);
        std::free(b->context);
    };
    f.get_base = [](ggml_backend_buffer_t b) { return b->context; };
    f.memset_tensor = [](ggml_backend_buffer_t, ggml_tensor* t, std::uint8_t value,
                         std::size_t offset, std::size_t bytes) {
        std::memset(static_cast<char*>(t->data) + offset, value, bytes);
    };
    f.set_tensor = [](ggml_backend_buffer_t, ggml_tensor* t, const void* from, std::size_t offset,
                      std::size_t bytes) {
        std::memcpy(static_cast<char*>(t->data) + offset, from, bytes);
    };
    f.get_tensor = [](ggml_backend_buffer_t, const ggml_tensor* t, void* to, std::size_t offset,
                      std::size_t bytes) {
        std::memcpy(to, static_cast<const char*>(t->data) + offset, bytes);
    };
    f.clear = [](ggml_backend_buffer_t b, std::uint8_t value) {
        std::memset(b->context, value, b->size);
    };
    return f;
}();

ggml_backend_buffer_type new_memory_type(ggml_backend_dev_t device) {
    ggml_backend_buffer_type_i f{};
    f.get_name = [](ggml_backend_buffer_type_t t) { return ggml_backend_dev_name(t->device); };
    f.get_alignment = [](ggml_backend_buffer_type_t) { return alignment; };
    f.alloc_buffer = [](ggml_backend_buffer_type_t t, std::size_t bytes) {
        void* memory = std::aligned_alloc(page, (bytes / page + 1) * page);
        std::memset(memory, nan_byte, bytes);
        ggml_backend_buffer_t b = ggml_backend_buffer_init(t, buffer_functions, memory, bytes);
        if (bytes > 0) {
            machine().add("values", memory, bytes, catena::exec::memory::initialized);
            buffers_of_values().insert(b);
        }
        return b;
    };
    f.get_alloc_size = [](ggml_backend_buffer_type_t, const ggml_tensor* t) {
        constexpr std::int64_t padding = 512;  // MATRIX_ROW_PADDING of ggml-cuda
        std::size_t bytes = ggml_nbytes(t) + scratch_bytes(t);
        if (ggml_is_quantized(t->type) && t->ne[0] % padding != 0)
            bytes += ggml_row_size(t->type, padding - t->ne[0] % padding);
        return bytes;
    };
    return {f, device, nullptr};
}

/// A device and its memory.
struct gpu {
    std::size_t number;
    std::string name;
    ggml_backend_device device;
    ggml_backend_buffer_type memory;
};
gpu& gpu_of(ggml_backend_dev_t device) { return *static_cast<gpu*>(device->context); }

struct host_clock {
    using event = std::chrono::steady_clock::time_point;
    catena::status create(event&) const { return {}; }
    void destroy(event&) const {}
    catena::status record(event& e, void*) const {
        e = std::chrono::steady_clock::now();
        return {};
    }
    catena::status between(const event& first, const event& last, double& us) const {
        us = std::chrono::duration<double, std::micro>(last - first).count();
        return {};
    }
};

/// Who looks at experts may replace them, which no launch reads that finds them itself.
catena::options options_of_test() {
    catena::options asked = catena::ggml::options_of_user();
    if (watch.look == nullptr) return asked;
    asked.chains_off.append(asked.chains_off.empty() ? "" : ",").append("routed_experts");
    return asked;
}

/// One context of libllama has one for each device.
struct stream : catena::ggml::device_memory {
    gpu& on;
    ggml_backend_t cpu = new_cpu_backend();
    const catena::options asked = options_of_test();
    catena::ggml::planned_backend planned{catena::instances::on_host(catena::instances::sm_90()),
                                          asked, *this};
    catena::ggml::timed_walks<catena::basic_step_timer<host_clock>> times{asked};

    explicit stream(gpu& g) : on(g) {}
    ~stream() override { ggml_backend_free(cpu); }

    bool reaches(ggml_backend_buffer_type_t type) const override { return type == &on.memory; }
    void* allocate(std::size_t bytes) override {
        return machine().allocate<std::byte>("workspace", bytes,
                                             catena::exec::memory::uninitialized);
    }
    void release(void* memory) override { machine().remove(memory); }
};

void order_nodes(ggml_backend_t backend, ggml_cgraph* graph,
                 ggml_backend_graph_optimize_params* params) {
    static_cast<stream*>(backend->context)
        ->planned.optimize(graph, params->add_alloc_dep, params->user_data);
}

void compute_on_cpu(const stream& s, ggml_cgraph* graph, int i) {
    ggml_cgraph node = ggml_graph_view(graph, i, i + 1);
    ggml_backend_graph_compute(s.cpu, &node);
    ggml_tensor* t = graph->nodes[i];
    std::memset(static_cast<char*>(t->data) + ggml_nbytes(t), nan_byte, scratch_bytes(t));
    if (watch.look != nullptr) watch.look(t, false, watch.looker);
}

bool multiplies_quantized(const ggml_tensor* t) {
    return (t->op == GGML_OP_MUL_MAT || t->op == GGML_OP_MUL_MAT_ID) && !ggml_is_empty(t) &&
           ggml_is_quantized(t->src[0]->type) &&
           t->src[0]->buffer->usage == GGML_BACKEND_BUFFER_USAGE_WEIGHTS;
}

/// Does a verdict leave node i to the engine, or the precision that the graph asks for?
bool left_on_purpose(const catena::plan& plan, int i) {
    return std::any_of(plan.left().begin(), plan.left().end(), [i](const catena::left_over& l) {
        return l.what.node == i && (l.what.why == catena::reason::engine_faster_in_models ||
                                    l.what.why == catena::reason::activation_precision);
    });
}

ggml_status fail(const catena::status& why) {
    if (done.error.empty()) done.error = why.message;
    for (const catena::exec::finding& f : machine().findings()) done.error += "; " + f.message;
    machine().clear_findings();
    return GGML_STATUS_FAILED;
}

ggml_status compute(ggml_backend_t backend, ggml_cgraph* graph) {
    stream& s = *static_cast<stream*>(backend->context);
    declare_weights();
    s.times.end_walk();
    const std::int64_t before = s.planned.planner().plans_made();
    const catena::plan* plan = s.planned.plan_for(graph);
    if (plan == nullptr)
        return fail(catena::failure(catena::status_code::device_error,
                                    "there is no plan, or no memory for its workspace"));
    if (!plan->state().ok()) return fail(plan->state());
    ++done.walks;
    done.plans += s.planned.planner().plans_made() - before;
    const std::int64_t launches = s.planned.launches();
    for (int i = 0; i < graph->n_nodes; ++i) {
        const bool engine = s.planned.at(i) == catena::role::engine;
        const bool matmul = multiplies_quantized(graph->nodes[i]) && !left_on_purpose(*plan, i);
        done.matmuls += matmul;
        done.planned_matmuls += matmul && !engine;
        if (engine) {
            compute_on_cpu(s, graph, i);
        } else if (const catena::status ran = s.planned.run(i, &machine(), s.times.watch());
                   !ran.ok()) {
            return fail(ran);
        }
    }
    done.launches[s.on.number] += s.planned.launches() - launches;
    return GGML_STATUS_SUCCESS;
}

ggml_backend_t new_stream(ggml_backend_dev_t device, const char*) {
    static ggml_guid id{0xca, 0x7e, 0x4a};
    ggml_backend_i f{};
    f.get_name = [](ggml_backend_t b) { return ggml_backend_dev_name(b->device); };
    f.free = [](ggml_backend_t b) {
        delete static_cast<stream*>(b->context);
        delete b;
    };
    f.graph_compute = compute;
    f.graph_optimize = order_nodes;
    return new ggml_backend{&id, f, device, new stream(gpu_of(device))};
}

ggml_backend_reg_t registry() {
    static ggml_backend_reg one{
        GGML_BACKEND_API_VERSION,
        {[](ggml_backend_reg_t) { return "Catena"; }, [](ggml_backend_reg_t) { return gpu_count; },
         [](ggml_backend_reg_t, std::size_t i) { return sm_90_device(i); },
         [](ggml_backend_reg_t, const char*) -> void* { return nullptr; }},
        nullptr};
    return &one;
}

ggml_backend_device_i device_functions() {
    ggml_backend_device_i f{};
    f.get_name = [](ggml_backend_dev_t d) { return gpu_of(d).name.c_str(); };
    f.get_description = [](ggml_backend_dev_t) { return "plans for sm_90 on this CPU"; };
    f.get_memory = [](ggml_backend_dev_t, std::size_t* free, std::size_t* total) {
        *free = *total = gpu_memory;
    };
    f.get_type = [](ggml_backend_dev_t) { return GGML_BACKEND_DEVICE_TYPE_GPU; };
    f.get_props = [](ggml_backend_dev_t d, ggml_backend_dev_props* p) {
        *p = {};
        p->name = d->iface.get_name(d);
        p->description = d->iface.get_description(d);
        p->type = GGML_BACKEND_DEVICE_TYPE_GPU;
        p->memory_free = p->memory_total = gpu_memory;
    };
    f.init_backend = new_stream;
    f.get_buffer_type = [](ggml_backend_dev_t d) { return &gpu_of(d).memory; };
    f.supports_op = [](ggml_backend_dev_t, const ggml_tensor* t) {
        return ggml_backend_dev_supports_op(ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_CPU),
                                            t);
    };
    // Weights on the CPU are brought for many columns, as ggml-cuda asks for.
    f.offload_op = [](ggml_backend_dev_t, const ggml_tensor* t) {
        constexpr std::int64_t columns = 32;
        if (t->op == GGML_OP_MUL_MAT) return t->ne[1] >= columns;
        return t->op == GGML_OP_MUL_MAT_ID && t->ne[2] >= columns;
    };
    f.supports_buft = [](ggml_backend_dev_t d, ggml_backend_buffer_type_t t) {
        return t == &gpu_of(d).memory;
    };
    return f;
}

}  // namespace

ggml_backend_dev_t sm_90_device(std::size_t number) {
    static std::array<gpu, gpu_count> all;
    static const bool made = [] {
        for (std::size_t i = 0; i < gpu_count; ++i) {
            gpu& g = all[i];
            g.number = i;
            g.name = "sm_90." + std::to_string(i);
            g.device = {device_functions(), registry(), &g};
            g.memory = new_memory_type(&g.device);
        }
        return true;
    }();
    return made ? &all.at(number).device : nullptr;
}

const device_work& work() { return done; }
void reset_work() { done = {}; }

watched_nodes::watched_nodes(ggml_backend_sched_eval_callback look, void* looker) {
    watch = {look, looker};
}
watched_nodes::~watched_nodes() { watch = {}; }

}  // namespace catena_test
