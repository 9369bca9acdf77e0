// Generated from generators/catalogue.hpp and generators/policies.cpp: do not edit, regenerate. Hash 5856feb9eb2112a7.
// Host kernels: matmul_q2_K_0.
#include "catena/instances/host_instance.hpp"

namespace catena::instances::host_matmul_q2_K_0 {

constexpr computation c0 = {.kind = skeleton::matmul, .activation = format::q8_1_mmq_d4, .weights = format_set::of(format::q2_K), .epilogue = epilogue_set::of(epilogue_part::scale) | epilogue_part::factor | epilogue_part::bias | epilogue_part::glu | epilogue_part::act | epilogue_part::residual | epilogue_part::quantize};
constexpr computation c1 = {.kind = skeleton::matmul, .activation = format::bf16_mma, .weights = format_set::of(format::q2_K), .epilogue = epilogue_set::of(epilogue_part::scale) | epilogue_part::factor | epilogue_part::bias | epilogue_part::glu | epilogue_part::act | epilogue_part::residual | epilogue_part::quantize};

extern const host_instance kernels[7];
const host_instance kernels[7] = {
    host_instance_of<c0, policy{.threads = 256, .rows = 32, .columns = 64, .piece = 256, .stages = 4, .copy = copy_method::bulk}>(),
    host_instance_of<c0, policy{.threads = 128, .min_blocks = 2, .rows = 16, .columns = 64, .piece = 256, .stages = 4, .copy = copy_method::bulk}>(),
    host_instance_of<c0, policy{.threads = 128, .min_blocks = 3, .rows = 16, .columns = 32, .piece = 256, .stages = 4, .copy = copy_method::bulk}>(),
    host_instance_of<c0, policy{.threads = 128, .min_blocks = 2, .rows = 16, .columns = 32, .piece = 256, .stages = 2, .slices = 4, .copy = copy_method::bulk}>(),
    host_instance_of<c0, policy{.threads = 128, .rows = 16, .columns = 32, .piece = 256, .stages = 2}>(),
    host_instance_of<c1, policy{.threads = 256, .rows = 32, .columns = 128, .piece = 256, .stages = 4, .copy = copy_method::bulk, .product = inner_product::wgmma}>(),
    host_instance_of<c1, policy{.threads = 256, .rows = 16, .columns = 128, .piece = 256, .stages = 4, .cluster = 4, .copy = copy_method::bulk, .product = inner_product::wgmma}>(),
};

}  // namespace catena::instances::host_matmul_q2_K_0
