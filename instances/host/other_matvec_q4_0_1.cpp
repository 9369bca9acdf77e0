// Generated from generators/catalogue.hpp and generators/policies.cpp: do not edit, regenerate. Hash 4f2da05a6ef3844e.
// Host kernels: other_matvec_q4_0_1.
#include "catena/instances/host_instance.hpp"

namespace catena::instances::host_other_matvec_q4_0_1 {

constexpr computation c0 = {.kind = skeleton::matvec, .activation = format::q8_1, .weights = format_set::of(format::q4_0), .epilogue = epilogue_set::of(epilogue_part::scale) | epilogue_part::bias | epilogue_part::glu | epilogue_part::residual | epilogue_part::quantize};

extern const host_instance kernels[5];
const host_instance kernels[5] = {
    host_instance_of<c0, policy{.threads = 128, .min_blocks = 4, .rows = 4, .columns = 1, .piece = 1024, .stages = 4, .copy = copy_method::async, .activation = activation_source::shared}>(),
    host_instance_of<c0, policy{.threads = 128, .min_blocks = 4, .rows = 2, .columns = 2, .piece = 1024, .stages = 4, .copy = copy_method::async, .activation = activation_source::shared}>(),
    host_instance_of<c0, policy{.threads = 128, .min_blocks = 3, .rows = 2, .columns = 4, .piece = 1024, .stages = 4, .copy = copy_method::async, .activation = activation_source::shared}>(),
    host_instance_of<c0, policy{.threads = 128, .min_blocks = 2, .rows = 2, .columns = 8, .piece = 1024, .stages = 4, .copy = copy_method::async, .activation = activation_source::shared}>(),
    host_instance_of<c0, policy{.threads = 128, .min_blocks = 2, .rows = 2, .columns = 8, .piece = 1024, .stages = 4, .copy = copy_method::async}>(),
};

}  // namespace catena::instances::host_other_matvec_q4_0_1
