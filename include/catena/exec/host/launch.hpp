// Launches a kernel on the host executor. `stream` is an exec::host_device, `kernel` a host_kernel.
#pragma once

#include "catena/error/message.hpp"
#include "catena/exec/host.hpp"
#include "catena/exec/launch.hpp"

#include <cstddef>
#include <exception>

namespace CATENA_NAMESPACE {

/// A launch_fn. A finding gives status_code::device_error with as much of its sentence as fits; the
/// device keeps it whole.
inline status launch_host(const void* kernel, const launch_config& config, const void* args,
                          std::size_t /*args_bytes*/, void* stream) noexcept {
    if (stream == nullptr)
        return failure(status_code::invalid_argument,
                       "launch_host: stream is null; pass the exec::host_device to run on");
    if (kernel == nullptr)
        return failure(
            status_code::no_kernel,
            "launch_host: the row has no host kernel; use catena::instances::on_host(table)");
    if (config.threads == 0 || config.threads > 1024 || config.threads % 32 != 0)
        return failure(status_code::invalid_argument,
                       "launch_host: config.threads must be a multiple of 32 between 32 and 1024");
    if (config.cluster == 0 || config.blocks % config.cluster != 0)
        return failure(status_code::invalid_argument,
                       "launch_host: config.blocks must be a multiple of config.cluster");
    try {
        auto& device = *static_cast<exec::host_device*>(stream);
        if (device.run(reinterpret_cast<host_kernel>(const_cast<void*>(kernel)), config, args))
            return {};
        return failure(status_code::device_error, device.findings().back().message.c_str());
    } catch (const std::exception& e) {
        return failure(status_code::device_error, e.what());
    }
}

}  // namespace CATENA_NAMESPACE
