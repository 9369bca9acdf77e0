#include "ab_device.hpp"
#include "stages.hpp"

#include <ggml-backend.h>
#include <ggml.h>

#include <chrono>
#include <stdexcept>

namespace catena::ab {
namespace {

constexpr int copies = 10;  // of a graph, so that its launch counts little

struct freed {
    void operator()(ggml_backend_t b) const { ggml_backend_free(b); }
    void operator()(ggml_context* c) const { ggml_free(c); }
    void operator()(ggml_backend_buffer_t b) const { ggml_backend_buffer_free(b); }
};

}  // namespace

struct device_copy::parts {
    std::unique_ptr<ggml_backend, freed> backend;
    std::unique_ptr<ggml_context, freed> context;
    std::unique_ptr<ggml_backend_buffer, freed> buffer;
    ggml_cgraph* graph = nullptr;
    double bytes = 0;  // of a run of the graph
};

device_copy::device_copy(std::size_t bytes) : parts_(std::make_unique<parts>()) {
    parts& p = *parts_;
    set_catena(side::off, "off");
    p.backend.reset(ggml_backend_dev_init(measured_device(), nullptr));
    p.context.reset(
        ggml_init({(copies + 2) * ggml_tensor_overhead() + ggml_graph_overhead(), nullptr, true}));
    const auto count = static_cast<std::int64_t>(bytes / sizeof(float));
    ggml_tensor* from = ggml_new_tensor_1d(p.context.get(), GGML_TYPE_F32, count);
    ggml_tensor* to = ggml_new_tensor_1d(p.context.get(), GGML_TYPE_F32, count);
    p.graph = ggml_new_graph(p.context.get());
    for (int i = 0; i < copies; ++i)
        ggml_build_forward_expand(p.graph, ggml_cpy(p.context.get(), from, to));
    p.buffer.reset(p.backend ? ggml_backend_alloc_ctx_tensors(p.context.get(), p.backend.get())
                             : nullptr);
    if (!p.buffer)
        throw std::runtime_error("the device has no memory for two buffers of " +
                                 std::to_string(bytes) + " bytes, whose copy is timed");
    ggml_backend_buffer_clear(p.buffer.get(), 1);
    p.bytes = 2.0 * copies * static_cast<double>(ggml_nbytes(from));
    bytes_per_us();  // the first may load code
}

device_copy::~device_copy() = default;

double device_copy::bytes_per_us() {
    using clock = std::chrono::steady_clock;
    const auto begin = clock::now();
    ggml_backend_graph_compute(parts_->backend.get(), parts_->graph);  // waits
    const std::chrono::duration<double, std::micro> us = clock::now() - begin;
    return parts_->bytes / us.count();
}

}  // namespace catena::ab
