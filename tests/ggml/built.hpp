// A graph of ggml's, as an engine has it before it deals out memory.
#pragma once

#include <ggml-cpp.h>

namespace catena_test {

/// Weights, caches and what lasts are allocated; what the nodes write is not, nor are the inputs
/// that lie among the nodes.
class built {
  public:
    built() = default;
    built(const built&) = delete;
    built& operator=(const built&) = delete;
    virtual ~built() = default;

    ggml_context* nodes_context() const { return nodes_.get(); }
    ggml_cgraph* cgraph() const { return graph_; }
    int size() const { return ggml_graph_n_nodes(graph_); }
    ggml_tensor* node(int i) const { return ggml_graph_node(graph_, i); }
    ggml_backend_buffer_t state() const { return state_buffer_.get(); }
    ggml_backend_buffer_t weights() const { return weights_; }

    /// Writes the inputs that lie among the nodes, once these have memory.
    virtual void write_inputs() {}

  protected:
    ggml_context_ptr state_, nodes_;
    ggml_backend_buffer_ptr state_buffer_;
    ggml_backend_buffer_t weights_ = nullptr;
    ggml_cgraph* graph_ = nullptr;
};

}  // namespace catena_test
