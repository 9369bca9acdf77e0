// Generated from generators/catalogue.hpp and generators/policies.cpp: do not edit, regenerate. Hash 2493efb8b818e49c.
// Host kernels: other_matvec_bf16_0.
#include "catena/instances/host_instance.hpp"

namespace catena::instances::host_other_matvec_bf16_0 {

constexpr computation c0 = {.kind = skeleton::matvec, .activation = format::f32, .weights = format_set::of(format::bf16), .epilogue = epilogue_set::of(epilogue_part::scale) | epilogue_part::factor | epilogue_part::bias | epilogue_part::glu | epilogue_part::act | epilogue_part::combine | epilogue_part::residual | epilogue_part::quantize};

extern const host_instance kernels[6];
const host_instance kernels[6] = {
    host_instance_of<c0, policy{.threads = 128, .min_blocks = 4, .rows = 1, .columns = 1, .piece = 1024, .stages = 2, .product = inner_product::fma}>(),
    host_instance_of<c0, policy{.threads = 128, .min_blocks = 4, .rows = 2, .columns = 1, .piece = 512, .stages = 2, .product = inner_product::fma}>(),
    host_instance_of<c0, policy{.threads = 128, .min_blocks = 3, .rows = 2, .columns = 8, .piece = 512, .stages = 2, .product = inner_product::fma}>(),
    host_instance_of<c0, policy{.threads = 128, .min_blocks = 4, .rows = 1, .columns = 1, .piece = 1024, .stages = 4, .copy = copy_method::async, .product = inner_product::fma}>(),
    host_instance_of<c0, policy{.threads = 128, .min_blocks = 4, .rows = 2, .columns = 1, .piece = 512, .stages = 4, .copy = copy_method::async, .product = inner_product::fma}>(),
    host_instance_of<c0, policy{.threads = 128, .min_blocks = 3, .rows = 2, .columns = 8, .piece = 512, .stages = 4, .copy = copy_method::async, .product = inner_product::fma}>(),
};

}  // namespace catena::instances::host_other_matvec_bf16_0
