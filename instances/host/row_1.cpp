// Generated from generators/catalogue.hpp and generators/policies.cpp: do not edit, regenerate. Hash 0b2f153994b4573e.
// Host kernels: row_1.
#include "catena/kernel/instance_host.hpp"

namespace catena::instances::host_row_1 {

constexpr computation c0 = {.kind = skeleton::row, .emits = format_set::of(format::q8_1)};

extern const host_instance kernels[4];
const host_instance kernels[4] = {
    kernel::on_host<c0, policy{.threads = 512, .values = 8, .vector = true}>(),
    kernel::on_host<c0, policy{.threads = 1024, .values = 8, .vector = true}>(),
    kernel::on_host<c0, policy{.threads = 1024, .values = 16, .vector = true}>(),
    kernel::on_host<c0, policy{.threads = 256}>(),
};

}  // namespace catena::instances::host_row_1
