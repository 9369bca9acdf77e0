// Ranges for Nsight: each launch of a plan in the domain "catena", under its instance's name. NVTX
// comes with the CUDA Toolkit, is header-only, and does nothing when no profiler is attached.
#pragma once

#include "catena/plan/observer.hpp"

#include <nvtx3/nvToolsExt.h>

namespace CATENA_NAMESPACE {

namespace detail {

inline nvtxDomainHandle_t nvtx_domain() {
    static const nvtxDomainHandle_t domain = nvtxDomainCreateA("catena");
    return domain;
}

inline void push_range(const launch_event& e, void*) {
    nvtxEventAttributes_t range = {};
    range.version = NVTX_VERSION;
    range.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    range.messageType = NVTX_MESSAGE_TYPE_ASCII;
    range.message.ascii = e.row;
    nvtxDomainRangePushEx(nvtx_domain(), &range);
}

inline void pop_range(const launch_event&, const status&, void*) {
    nvtxDomainRangePop(nvtx_domain());
}

}  // namespace detail

/// For plan::launch; any number of threads may share it. A launch that is captured shows its range
/// at the capture.
inline observer nvtx_ranges() {
    observer out;
    out.before = detail::push_range;
    out.after = detail::pop_range;
    return out;
}

}  // namespace CATENA_NAMESPACE
