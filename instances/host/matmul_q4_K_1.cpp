// Generated from generators/catalogue.hpp and generators/policies.cpp: do not edit, regenerate. Hash 8a98570886eae8c7.
// Host kernels: matmul_q4_K_1.
#include "catena/instances/host_instance.hpp"

namespace catena::instances::host_matmul_q4_K_1 {

constexpr computation c0 = {.kind = skeleton::matmul, .activation = format::q8_1_mmq_ds4, .weights = format_set::of(format::q4_K), .epilogue = epilogue_set::of(epilogue_part::scale) | epilogue_part::factor | epilogue_part::bias | epilogue_part::glu | epilogue_part::act | epilogue_part::residual | epilogue_part::quantize};

extern const host_instance kernels[8];
const host_instance kernels[8] = {
    host_instance_of<c0, policy{.threads = 256, .rows = 32, .columns = 64, .piece = 256, .stages = 2, .copy = copy_method::async}>(),
    host_instance_of<c0, policy{.threads = 128, .min_blocks = 2, .rows = 16, .columns = 64, .piece = 256, .stages = 2, .copy = copy_method::async}>(),
    host_instance_of<c0, policy{.threads = 128, .min_blocks = 3, .rows = 16, .columns = 32, .piece = 256, .stages = 2, .copy = copy_method::async}>(),
    host_instance_of<c0, policy{.threads = 128, .rows = 16, .columns = 32, .piece = 256, .stages = 2, .slices = 4, .copy = copy_method::async}>(),
    host_instance_of<c0, policy{.threads = 128, .rows = 16, .columns = 64, .piece = 256, .stages = 2, .copy = copy_method::async}>(),
    host_instance_of<c0, policy{.threads = 128, .min_blocks = 2, .rows = 16, .columns = 32, .piece = 256, .stages = 2, .copy = copy_method::async}>(),
    host_instance_of<c0, policy{.threads = 128, .rows = 16, .columns = 64, .piece = 256, .stages = 2, .copy = copy_method::bulk}>(),
    host_instance_of<c0, policy{.threads = 128, .min_blocks = 2, .rows = 16, .columns = 32, .piece = 256, .stages = 2, .copy = copy_method::bulk}>(),
};

}  // namespace catena::instances::host_matmul_q4_K_1
