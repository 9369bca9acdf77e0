// Generated from generators/catalogue.hpp and generators/policies.cpp: do not edit, regenerate. Hash 2ea30b3d1b3c589b.
// Host kernels: row_1.
#include "catena/instances/host_instance.hpp"

namespace catena::instances::host_row_1 {

constexpr computation c0 = {.kind = skeleton::row, .emits = format_set::of(format::q8_1)};

extern const host_instance kernels[4];
const host_instance kernels[4] = {
    host_instance_of<c0, policy{.threads = 512, .values = 8, .vector = true}>(),
    host_instance_of<c0, policy{.threads = 1024, .values = 8, .vector = true}>(),
    host_instance_of<c0, policy{.threads = 1024, .values = 16, .vector = true}>(),
    host_instance_of<c0, policy{.threads = 256}>(),
};

}  // namespace catena::instances::host_row_1
