// The host executor as a machine: every byte that a case does not hand out is out of bounds.
#pragma once

#include "machine.hpp"

#include "catena/exec/host/launch.hpp"

#include <cstdint>
#include <memory>

namespace catena_test {

class host_machine : public local_machine {
  public:
    explicit host_machine(std::uint64_t seed) : device_(seed) {}

    void* allocate(const std::string& name, contents kind, const bytes& initial,
                   std::size_t offset) override {
        std::byte* const to = place(initial, offset);
        using catena::exec::memory;
        device_.add(name, to, initial.size(),
                    kind == contents::weights ? memory::constant
                    : kind == contents::data  ? memory::initialized
                                              : memory::uninitialized);
        return to;
    }

    std::string launch(const void* kernel, const catena::launch_config& config, const void* args,
                       std::size_t args_bytes) override {
        const catena::status done = catena::launch_host(kernel, config, args, args_bytes, &device_);
        if (done.ok()) return "";
        return device_.findings().empty() ? done.message : device_.findings().back().message;
    }

    void name(const void* kernel, const std::string& label) { device_.name(kernel, label); }

  private:
    catena::exec::host_device device_;
};

/// An instance on the host executor, every launch with another order of threads.
inline instance on_host(const catena::computation& computes, const catena::policy& how,
                        const void* kernel, const std::string& label) {
    return {computes, how, kernel, [kernel, label, seed = std::uint64_t{0}]() mutable {
                auto machine = std::make_unique<host_machine>(seed++);
                machine->name(kernel, label);
                return machine;
            }};
}

}  // namespace catena_test
