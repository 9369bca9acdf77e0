#include "ggml_peer.hpp"

#include <ggml-cpu.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <stdexcept>

namespace catena::bench {
namespace {

ggml_type type_called(const std::string& name) {
    for (int i = 0; i < GGML_TYPE_COUNT; ++i) {
        const char* known = ggml_type_name(static_cast<ggml_type>(i));
        if (known != nullptr && name == known) return static_cast<ggml_type>(i);
    }
    throw std::runtime_error("this ggml has no type called " + name);
}

ggml_op op_called(const std::string& name) {
    for (int i = 0; i < GGML_OP_COUNT; ++i)
        if (name == ggml_op_name(static_cast<ggml_op>(i))) return static_cast<ggml_op>(i);
    throw std::runtime_error("this ggml has no op called " + name);
}

const char* kind_of(enum ggml_backend_dev_type type) {
    return type == GGML_BACKEND_DEVICE_TYPE_GPU ? "GPU" : "CPU";
}

/// A tensor that stands for bytes of a buffer, to carry them there and back.
ggml_tensor bytes_at(ggml_backend_buffer_t buffer, std::byte* at, std::size_t bytes) {
    ggml_tensor t = {};
    t.type = GGML_TYPE_I8;
    t.ne[0] = static_cast<std::int64_t>(bytes);
    t.ne[1] = t.ne[2] = t.ne[3] = 1;
    t.nb[0] = 1;
    t.nb[1] = t.nb[2] = t.nb[3] = bytes;
    t.buffer = buffer;
    t.data = at;
    return t;
}

}  // namespace

ggml_device::ggml_device(enum ggml_backend_dev_type type, std::int64_t bytes) {
    ggml_backend_load_all();
    ggml_backend_dev_t device = ggml_backend_dev_by_type(type);
    if (device == nullptr)
        throw std::runtime_error(std::string("this ggml has no ") + kind_of(type) +
                                 " device: build it with -DGGML_CUDA=ON and name its prefix in "
                                 "CMAKE_PREFIX_PATH");
    backend_.reset(ggml_backend_dev_init(device, nullptr));
    if (type != GGML_BACKEND_DEVICE_TYPE_CPU)
        cpu_.reset(ggml_backend_cpu_init());
    else  // tests compute on it, as many at a time as there are cores: its other threads would spin
        ggml_backend_cpu_set_n_threads(backend_.get(), 1);
    buffer_.reset(ggml_backend_alloc_buffer(backend_.get(), static_cast<std::size_t>(bytes)));
    if (!buffer_)
        throw std::runtime_error(name() + " has no " + std::to_string(bytes) +
                                 " bytes of memory for a buffer");
    arena_.base = static_cast<std::byte*>(ggml_backend_buffer_get_base(buffer_.get()));
    arena_.bytes = bytes;
    arena_.write = [buffer = buffer_.get()](std::byte* to, std::span<const std::byte> from) {
        const ggml_tensor t = bytes_at(buffer, to, from.size());
        ggml_backend_tensor_set(const_cast<ggml_tensor*>(&t), from.data(), 0, from.size());
    };
    arena_.read = [buffer = buffer_.get()](const std::byte* from, std::span<std::byte> to) {
        const ggml_tensor t = bytes_at(buffer, const_cast<std::byte*>(from), to.size());
        ggml_backend_tensor_get(&t, to.data(), 0, to.size());
    };
}

std::string ggml_device::name() const {
    ggml_backend_dev_t device = ggml_backend_get_device(backend_.get());
    return std::string(ggml_backend_dev_name(device)) + " (" +
           ggml_backend_dev_description(device) + ")";
}

std::string ggml_description() {
    std::string text = std::string("ggml ") + ggml_version();
    for (const char* variable : {"GGML_CUDA_GRAPH_OPT", "GGML_CUDA_DISABLE_FUSION",
                                 "GGML_CUDA_DISABLE_GRAPHS", "GGML_CUDA_PDL"})
        if (const char* value = std::getenv(variable))
            text += std::string(", ") + variable + "=" + value;
    return text;
}

ggml_copies::ggml_copies(ggml_device& on, const std::vector<small_graph>& copies) : on_(on) {
    std::size_t tensors = 0;
    for (const small_graph& copy : copies) tensors += copy.tensors.size();
    context_.reset(ggml_init(
        {tensors * ggml_tensor_overhead() + ggml_graph_overhead_custom(2 * tensors, false), nullptr,
         true}));
    graph_ = ggml_new_graph_custom(context_.get(), 2 * tensors, false);
    for (const small_graph& copy : copies) add(copy);

    std::vector<ggml_backend_t> backends = {on_.backend_.get()};
    if (on_.cpu_) backends.push_back(on_.cpu_.get());
    scheduler_.reset(ggml_backend_sched_new(
        backends.data(), nullptr, static_cast<int>(backends.size()), 2 * tensors, false, false));
    if (!ggml_backend_sched_alloc_graph(scheduler_.get(), graph_))
        throw std::runtime_error("ggml's scheduler cannot take the graph");
}

void ggml_copies::add(const small_graph& copy) {
    std::vector<ggml_tensor*> made;
    for (std::size_t i = 0; i < copy.tensors.size(); ++i) {
        const tensor& from = copy.tensors[i];
        ggml_tensor* t =
            ggml_new_tensor(context_.get(), type_called(catena::name(from.type)), 4, from.ne);
        for (int d = 0; d < 4; ++d) t->nb[d] = static_cast<std::size_t>(from.nb[d]);
        t->op = op_called(from.op_name);
        static_assert(sizeof t->op_params == sizeof from.params);
        std::memcpy(t->op_params, from.params, sizeof t->op_params);
        for (int s = 0; s < max_src; ++s)
            if (from.src[s] != no_tensor) t->src[s] = made[static_cast<std::size_t>(from.src[s])];
        ggml_set_name(t, from.name);
        made.push_back(t);
        if (from.view_src != no_tensor) {
            t->view_src = made[static_cast<std::size_t>(from.view_src)];
            t->view_offs = static_cast<std::size_t>(copy.view_offset[i]);
            ggml_backend_view_init(t);
        } else if (ggml_backend_tensor_alloc(on_.buffer_.get(), t, from.data) !=
                   GGML_STATUS_SUCCESS) {
            throw std::runtime_error(std::string("ggml refuses the place of ") + from.name);
        }
    }
    for (const std::int32_t node : copy.nodes) {
        ggml_tensor* t = made[static_cast<std::size_t>(node)];
        if (leaves_the_cut(copy, node)) ggml_set_output(t);
        if (!ggml_backend_supports_op(on_.backend_.get(), t))
            throw std::runtime_error(on_.name() + " does not compute " + ggml_op_desc(t));
        ggml_build_forward_expand(graph_, t);
    }
    nodes_ = static_cast<int>(copy.nodes.size());
}

void ggml_copies::compute() {
    if (ggml_backend_sched_graph_compute_async(scheduler_.get(), graph_) != GGML_STATUS_SUCCESS)
        throw std::runtime_error(on_.name() + " failed to compute the graph");
}

void ggml_copies::synchronize() { ggml_backend_sched_synchronize(scheduler_.get()); }

}  // namespace catena::bench
