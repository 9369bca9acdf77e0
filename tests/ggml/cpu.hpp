// ggml's CPU backend, and what its nodes are.
#pragma once

#include <ggml-cpp.h>
#include <ggml-cpu.h>

#include <cstddef>
#include <vector>

namespace catena_test {

/// Runs single nodes, and whole graphs, on one thread.
class cpu {
  public:
    cpu() : backend_(ggml_backend_cpu_init()) {
        ggml_backend_cpu_set_n_threads(backend_.get(), 1);
        context_.reset(ggml_init({ggml_graph_overhead(), nullptr, true}));
        one_ = ggml_new_graph(context_.get());
    }

    void compute(ggml_tensor* node) {
        ggml_graph_clear(one_);
        ggml_graph_add_node(one_, node);
        compute(one_);
    }
    void compute(ggml_cgraph* graph) { ggml_backend_graph_compute(backend_.get(), graph); }

  private:
    ggml_backend_ptr backend_;
    ggml_context_ptr context_;
    ggml_cgraph* one_;
};

inline bool computes(const ggml_tensor* t) {
    return !ggml_is_empty(t) && t->op != GGML_OP_NONE && t->op != GGML_OP_RESHAPE &&
           t->op != GGML_OP_VIEW && t->op != GGML_OP_PERMUTE && t->op != GGML_OP_TRANSPOSE;
}

inline bool is_matmul(const ggml_tensor* t) {
    return t->op == GGML_OP_MUL_MAT || t->op == GGML_OP_MUL_MAT_ID;
}

inline std::vector<std::byte> bytes_of(const ggml_tensor* t) {
    std::vector<std::byte> out(ggml_nbytes(t));
    ggml_backend_tensor_get(t, out.data(), 0, out.size());
    return out;
}

}  // namespace catena_test
