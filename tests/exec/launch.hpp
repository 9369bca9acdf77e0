// Runs a body, written as a lambda, on the host executor.
#pragma once

#include "catena/exec/host/launch.hpp"

#include "catena_test/catch.hpp"

#include <cstddef>
#include <string>

namespace catena_test {

using catena::exec::fault;
using catena::exec::finding;
using catena::exec::host;
using catena::exec::host_device;
using catena::exec::memory;

template <class Body>
catena::status launch(host_device& device, const catena::launch_config& config, const Body& body) {
    const catena::host_kernel kernel = [](host& x, const void* args) {
        (*static_cast<const Body*>(args))(x);
    };
    device.name(kernel, "kernel_under_test");
    return catena::launch_host(reinterpret_cast<const void*>(kernel), config, &body, sizeof body,
                               &device);
}

/// The finding that stops `body`. It must be of `kind`, name the kernel, and be what the status
/// says.
template <class Body>
finding caught(host_device& device, fault kind, const catena::launch_config& config,
               const Body& body) {
    const catena::status done = launch(device, config, body);
    REQUIRE(done.code == catena::status_code::device_error);
    REQUIRE(device.findings().size() == 1);
    const finding f = device.findings().back();
    INFO(f.message);
    CHECK(f.kind == kind);
    CHECK(f.kernel == "kernel_under_test");
    CHECK(f.message.find("Kernel: kernel_under_test") != std::string::npos);
    CHECK(f.message.find("block " + std::to_string(f.block) + ", thread " +
                         std::to_string(f.thread)) == 0);
    CHECK(f.message.rfind(done.message, 0) == 0);
    device.clear_findings();
    return f;
}

template <class Body>
void passes(host_device& device, const catena::launch_config& config, const Body& body) {
    const catena::status done = launch(device, config, body);
    INFO(
        (device.findings().empty() ? std::string(done.message) : device.findings().back().message));
    CHECK(done.ok());
}

inline bool says(const finding& f, const std::string& words) {
    UNSCOPED_INFO(f.message);
    return f.message.find(words) != std::string::npos;
}

inline std::uintptr_t address(const void* p) { return reinterpret_cast<std::uintptr_t>(p); }

}  // namespace catena_test
