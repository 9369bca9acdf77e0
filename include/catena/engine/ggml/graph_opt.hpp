// A switch of ggml-cuda with which Catena does not work.
#pragma once

#include "catena/error/message.hpp"

#include <cstdlib>

namespace CATENA_NAMESPACE::ggml {

/// Do the nodes keep the order in which they were planned? With GGML_CUDA_GRAPH_OPT=1 ggml-cuda
/// puts them in another one after planning, and runs them on several streams. `value` is what the
/// variable holds, or null.
inline status keeps_order(const char* value) {
    if (value == nullptr || std::atoi(value) != 1) return {};
    return failure(status_code::invalid_argument,
                   "GGML_CUDA_GRAPH_OPT=1 reorders nodes behind the plan: unset it to use Catena");
}

}  // namespace CATENA_NAMESPACE::ggml
