// Where Catena's kernels run beside a backend of ggml that the plug-in wraps: on a stream of the
// same GPU (cuda.cpp), or on the host executor (host.cpp).
#pragma once

#include "../catena-backend.hpp"

#include <memory>
#include <string>

namespace catena_plugin {

/// One for each wrapped backend. Launches and the wrapped backend's nodes are done in the order in
/// which they are given, also where they are on different streams.
class kernels : public catena::ggml::device_memory {
  public:
    /// A walk of the graph's nodes begins; `end` follows it.
    virtual void begin(const ggml_cgraph& graph) = 0;
    virtual void end() {}
    /// The wrapped backend's nodes so far come before the launches that follow.
    virtual void wait_for_engine() = 0;
    /// The launches so far come before the wrapped backend's nodes that follow.
    virtual void let_engine_wait() = 0;
    /// What a launch needs.
    virtual void* stream() = 0;
    /// What the log should say beside a launch that failed.
    virtual std::string findings() { return {}; }
};

/// The table for a device of the wrapped library. If there is none, its state says why.
catena::table table_for(ggml_backend_dev_t device);

/// Null if there is no room for a stream.
std::unique_ptr<kernels> kernels_beside(ggml_backend_t wrapped, const catena::table& rows);

}  // namespace catena_plugin
