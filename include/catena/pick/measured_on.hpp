// Medians decide only on the GPU that they were measured on: an H100 PCIe is no H100 SXM, though
// both are sm_90.
#pragma once

#include "catena/error/message.hpp"
#include "catena/pick/row.hpp"

#include <string_view>

namespace CATENA_NAMESPACE {

/// CUDA's name of the GPU that a table's policies were measured on; empty: on none.
inline std::string_view measured_on(const table& t) {
    for (int i = 0; i < t.row_count; ++i)
        if (t.rows[i].evidence.kind == provenance_kind::measured) return t.rows[i].evidence.gpu;
    return "";
}

/// Leaves out the medians of a table whose device is another GPU than they are of. The cost model
/// then decides with the device's figures, and the message of `state` says so.
inline void keep_own_medians(table& t) {
    if (t.measured_count == 0 || !t.device || !match_headers(t.headers).ok()) return;
    const std::string_view gpu = measured_on(t);
    if (gpu == t.device->gpu) return;
    t.measured_count = 0;
    const status before = t.state;
    t.state = failure(status_code::ok,
                      "%.60s%sthe medians of %s are of another GPU (%.45s), so the cost model "
                      "decides: tune on %.45s",
                      before.message, *before.message == '\0' ? "" : "; ", t.target->name,
                      gpu.empty() ? "not named" : gpu.data(), t.device->gpu);
}

}  // namespace CATENA_NAMESPACE
