// Generated from generators/catalogue.hpp and generators/policies.cpp: do not edit, regenerate. Hash 557108e4e60d66bb.
// Host kernels: other_matmul_iq1_m_0.
#include "catena/instances/host_instance.hpp"

namespace catena::instances::host_other_matmul_iq1_m_0 {

constexpr computation c0 = {.kind = skeleton::matmul, .activation = format::q8_1_mmq_d4, .weights = format_set::of(format::iq1_m), .epilogue = epilogue_set::of(epilogue_part::scale) | epilogue_part::factor | epilogue_part::bias | epilogue_part::glu | epilogue_part::act | epilogue_part::residual | epilogue_part::quantize};

extern const host_instance kernels[8];
const host_instance kernels[8] = {
    host_instance_of<c0, policy{.threads = 128, .rows = 16, .columns = 64, .piece = 256, .stages = 2}>(),
    host_instance_of<c0, policy{.threads = 256, .rows = 32, .columns = 64, .piece = 256, .stages = 3, .copy = copy_method::async}>(),
    host_instance_of<c0, policy{.threads = 128, .min_blocks = 2, .rows = 16, .columns = 64, .piece = 256, .stages = 3, .copy = copy_method::async}>(),
    host_instance_of<c0, policy{.threads = 128, .min_blocks = 3, .rows = 16, .columns = 32, .piece = 256, .stages = 3, .copy = copy_method::async}>(),
    host_instance_of<c0, policy{.threads = 128, .rows = 16, .columns = 32, .piece = 256, .stages = 2, .slices = 4, .copy = copy_method::async}>(),
    host_instance_of<c0, policy{.threads = 128, .rows = 16, .columns = 64, .piece = 256, .stages = 2, .copy = copy_method::async}>(),
    host_instance_of<c0, policy{.threads = 128, .min_blocks = 2, .rows = 16, .columns = 32, .piece = 256, .stages = 2, .copy = copy_method::async}>(),
    host_instance_of<c0, policy{.threads = 128, .rows = 16, .columns = 64, .piece = 256, .stages = 2, .copy = copy_method::bulk}>(),
};

}  // namespace catena::instances::host_other_matmul_iq1_m_0
