// A GPU as a timing device.
#pragma once

#include "code_cost.hpp"
#include "device.hpp"

#include <memory>
#include <string>

namespace catena::tune {

struct cuda_options {
    generator::device_compiler compiler;
    int jobs = 1;  ///< compilations at once
};

/// The arch of device 0 among those of the registry, "sm_90"; empty: this build has no CUDA, or
/// there is no such device.
std::string native_arch();

/// `a`, the arch of device 0, with the figures of that device.
arch native_device(const arch& a);

/// Device 0. Throws std::runtime_error when there is none, or it is not of `target`.
std::unique_ptr<timing_device> cuda_device(const arch& target, const cuda_options& how);

}  // namespace catena::tune
