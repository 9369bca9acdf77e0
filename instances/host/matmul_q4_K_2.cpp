// Generated from generators/catalogue.hpp and generators/policies.cpp: do not edit, regenerate. Hash c8233246c0dd0de1.
// Host kernels: matmul_q4_K_2.
#include "catena/instances/host_instance.hpp"

namespace catena::instances::host_matmul_q4_K_2 {

constexpr computation c0 = {.kind = skeleton::matmul, .activation = format::q8_1_mmq_ds4, .weights = format_set::of(format::q4_K), .epilogue = epilogue_set::of(epilogue_part::scale) | epilogue_part::factor | epilogue_part::bias | epilogue_part::glu | epilogue_part::act | epilogue_part::residual | epilogue_part::quantize};

extern const host_instance kernels[1];
const host_instance kernels[1] = {
    host_instance_of<c0, policy{.threads = 128, .rows = 16, .columns = 32, .piece = 256, .stages = 2, .slices = 4, .copy = copy_method::bulk}>(),
};

}  // namespace catena::instances::host_matmul_q4_K_2
