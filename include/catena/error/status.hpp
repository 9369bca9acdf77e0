// How a call of the runtime says that it failed: a value, never an exception.
#pragma once

#include "catena/config.hpp"

namespace CATENA_NAMESPACE {
/// What kind of failure a call met.
enum class status_code : unsigned char {
    ok,
    invalid_argument,  ///< a null, misaligned or out-of-range argument
    no_instances,      ///< the arch has no instances built in
    no_kernel,         ///< the rows are known, their code is not linked in
    device_error,      ///< the device or its driver refused
    no_clusters,       ///< the device has no room for a thread block cluster of this launch
    wrong_plan,        ///< options::verify found a fault in a plan: it was dropped
    fallback,          ///< a fallback was met, and options::error_on_fallback is set
    wrong_graph        ///< options::verify: the graph overwrites a value that it still reads
};

/// `message` is a sentence that names the argument and the remedy; it fits the buffer and is
/// terminated.
struct [[nodiscard]] status {
    status_code code = status_code::ok;
    char message[256] = {};

    bool ok() const { return code == status_code::ok; }  ///< the call did what it was asked for
};

}  // namespace CATENA_NAMESPACE
