// Generated from generators/catalogue.hpp and generators/policies.cpp: do not edit, regenerate. Hash 3e748f69d3c2bbac.
// Host kernels: row_0.
#include "catena/kernel/instance_host.hpp"

namespace catena::instances::host_row_0 {

constexpr computation c0 = {.kind = skeleton::row, .norm = norm_kind::rms, .residual = true, .scale = true, .emits = format_set::of(format::f32) | format::f16 | format::bf16 | format::q8_1};
constexpr computation c1 = {.kind = skeleton::row, .emits = format_set::of(format::q8_1)};

extern const host_instance kernels[8];
const host_instance kernels[8] = {
    kernel::on_host<c0, policy{.threads = 128, .values = 8, .vector = true}>(),
    kernel::on_host<c0, policy{.threads = 256, .values = 8, .vector = true}>(),
    kernel::on_host<c0, policy{.threads = 512, .values = 8, .vector = true}>(),
    kernel::on_host<c0, policy{.threads = 1024, .values = 8, .vector = true}>(),
    kernel::on_host<c0, policy{.threads = 1024, .values = 16, .vector = true}>(),
    kernel::on_host<c0, policy{.threads = 256}>(),
    kernel::on_host<c1, policy{.threads = 128, .values = 8, .vector = true}>(),
    kernel::on_host<c1, policy{.threads = 256, .values = 8, .vector = true}>(),
};

}  // namespace catena::instances::host_row_0
