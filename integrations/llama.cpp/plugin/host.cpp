// The host executor runs the kernels, so that the plug-in is tried without a GPU: around ggml's CPU
// backend, or around any other whose memory the CPU can read.
#include "kernels.hpp"

#include "catena/exec/host/device.hpp"
#include "catena/instances/on_host.hpp"
#include "catena/instances/sm_90.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace catena_plugin {
namespace {

class on_host : public kernels {
  public:
    explicit on_host(ggml_backend_t wrapped) : wrapped_(wrapped) {}

    bool reaches(ggml_backend_buffer_type_t type) const override {
        ggml_backend_dev_t device = ggml_backend_get_device(wrapped_);
        return type == ggml_backend_dev_buffer_type(device) ||
               (ggml_backend_dev_type(device) == GGML_BACKEND_DEVICE_TYPE_CPU &&
                ggml_backend_buft_is_host(type));
    }
    void* allocate(std::size_t bytes) override {
        return machine_.allocate<std::byte>("workspace", bytes,
                                            catena::exec::memory::uninitialized);
    }
    void release(void* memory) override { machine_.remove(memory); }

    /// Buffers come and go between walks, so each walk declares those of its graph.
    void begin(const ggml_cgraph& graph) override {
        for (int i = 0; i < graph.n_nodes; ++i) {
            declare(graph.nodes[i]);
            for (const ggml_tensor* source : graph.nodes[i]->src) declare(source);
        }
    }
    void end() override {
        for (const void* base : declared_) machine_.remove(base);
        declared_.clear();
    }

    void wait_for_engine() override { ggml_backend_synchronize(wrapped_); }
    void let_engine_wait() override {}  // a launch returns when it is done
    void* stream() override { return &machine_; }

    std::string findings() override {
        std::string all;
        for (const catena::exec::finding& f : machine_.findings()) all += "; " + f.message;
        machine_.clear_findings();
        return all;
    }

  private:
    ggml_backend_t wrapped_;
    catena::exec::host_device machine_{7};
    std::vector<const void*> declared_;

    void declare(const ggml_tensor* t) {
        ggml_backend_buffer_t b = t == nullptr             ? nullptr
                                  : t->view_src != nullptr ? t->view_src->buffer
                                                           : t->buffer;
        if (b == nullptr || !reaches(ggml_backend_buffer_get_type(b))) return;
        const void* base = ggml_backend_buffer_get_base(b);
        const std::size_t bytes = ggml_backend_buffer_get_size(b);
        if (bytes == 0 || std::find(declared_.begin(), declared_.end(), base) != declared_.end())
            return;
        const bool weights = ggml_backend_buffer_get_usage(b) == GGML_BACKEND_BUFFER_USAGE_WEIGHTS;
        machine_.add(ggml_backend_buffer_name(b), base, bytes,
                     weights ? catena::exec::memory::constant : catena::exec::memory::initialized);
        declared_.push_back(base);
    }
};

}  // namespace

catena::table table_for(ggml_backend_dev_t) {
    return catena::instances::on_host(catena::instances::sm_90());
}

std::unique_ptr<kernels> kernels_beside(ggml_backend_t wrapped, const catena::table&) {
    return std::make_unique<on_host>(wrapped);
}

}  // namespace catena_plugin
