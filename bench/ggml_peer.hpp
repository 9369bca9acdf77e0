// ggml as a peer: the copies of a cut as one graph of a ggml backend, through ggml's public
// interface alone, in the very memory that Catena's side uses. The same code serves ggml-cuda and
// ggml's CPU backend, which the tests compare with.
#pragma once

#include "copies.hpp"

#include <ggml-backend.h>
#include <ggml-cpp.h>

#include <string>
#include <vector>

namespace catena::bench {

/// A backend of ggml and memory of its device.
class ggml_device {
  public:
    /// The first device of the type; `bytes` of its memory. Throws std::runtime_error if ggml was
    /// built without one, with the remedy, or if there is not so much memory.
    ggml_device(enum ggml_backend_dev_type type, std::int64_t bytes);

    memory arena() const { return arena_; }
    std::string name() const;  ///< "CUDA0 (NVIDIA H100 80GB HBM3)"

  private:
    friend class ggml_copies;
    ggml_backend_ptr backend_, cpu_;  ///< the scheduler wants a CPU backend last
    ggml_backend_buffer_ptr buffer_;
    memory arena_;
};

/// What this ggml is, and the environment that it reads: "ggml 0.25.3, GGML_CUDA_GRAPH_OPT=1".
std::string ggml_description();

class ggml_copies {
  public:
    /// `copies` must lie in the device's arena. Throws std::runtime_error for an op or a type that
    /// this ggml does not know or its device does not compute.
    ggml_copies(ggml_device& on, const std::vector<small_graph>& copies);

    /// Computes every copy; returns when the work is queued.
    void compute();
    void synchronize();

    int nodes_of_one() const { return nodes_; }

  private:
    ggml_device& on_;
    ggml_context_ptr context_;
    ggml_cgraph* graph_ = nullptr;
    ggml_backend_sched_ptr scheduler_;
    int nodes_ = 0;

    void add(const small_graph& copy);
};

}  // namespace catena::bench
