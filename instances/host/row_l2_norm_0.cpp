// Generated from generators/catalogue.hpp and generators/policies.cpp: do not edit, regenerate. Hash 08ab0dd82b58e6c5.
// Host kernels: row_l2_norm_0.
#include "catena/instances/host_instance.hpp"

namespace catena::instances::host_row_l2_norm_0 {

constexpr computation c0 = {.kind = skeleton::row, .stages = stage_set::of(stage_kind::l2_norm), .emits = format_set::of(format::f32)};

extern const host_instance kernels[5];
const host_instance kernels[5] = {
    host_instance_of<c0, policy{.threads = 128, .values = 8, .rows = 4, .vector = true}>(),
    host_instance_of<c0, policy{.threads = 512, .values = 8, .vector = true}>(),
    host_instance_of<c0, policy{.threads = 1024, .values = 8, .vector = true}>(),
    host_instance_of<c0, policy{.threads = 1024, .vector = true}>(),
    host_instance_of<c0, policy{.threads = 256}>(),
};

}  // namespace catena::instances::host_row_l2_norm_0
