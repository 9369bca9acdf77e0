// Generated from generators/catalogue.hpp and generators/policies.cpp: do not edit, regenerate. Hash 029dde55ec50b2b2.
// Host kernels: other_matvec_f32_0.
#include "catena/instances/host_instance.hpp"

namespace catena::instances::host_other_matvec_f32_0 {

constexpr computation c0 = {.kind = skeleton::matvec, .activation = format::f32, .weights = format_set::of(format::f32), .epilogue = epilogue_set::of(epilogue_part::scale) | epilogue_part::factor | epilogue_part::bias | epilogue_part::glu | epilogue_part::act | epilogue_part::combine | epilogue_part::residual | epilogue_part::quantize};
constexpr computation c1 = {.kind = skeleton::matvec, .stages = stage_set::of(stage_kind::rms_norm) | stage_kind::mul_weight, .emits = format_set::of(format::f32) | format::q8_1, .activation = format::f32, .weights = format_set::of(format::f32), .epilogue = epilogue_set::of(epilogue_part::scale) | epilogue_part::factor | epilogue_part::bias | epilogue_part::glu | epilogue_part::act | epilogue_part::combine | epilogue_part::residual | epilogue_part::quantize};

extern const host_instance kernels[8];
const host_instance kernels[8] = {
    host_instance_of<c0, policy{.threads = 128, .min_blocks = 4, .rows = 1, .columns = 1, .piece = 512, .stages = 2, .product = inner_product::fma}>(),
    host_instance_of<c0, policy{.threads = 128, .min_blocks = 4, .rows = 2, .columns = 1, .piece = 256, .stages = 2, .product = inner_product::fma}>(),
    host_instance_of<c0, policy{.threads = 128, .min_blocks = 3, .rows = 2, .columns = 8, .piece = 256, .stages = 2, .product = inner_product::fma}>(),
    host_instance_of<c1, policy{.threads = 256, .min_blocks = 3, .rows = 1, .columns = 1, .piece = 512, .stages = 2, .product = inner_product::fma, .placement = norm_placement::passing}>(),
    host_instance_of<c0, policy{.threads = 128, .min_blocks = 4, .rows = 1, .columns = 1, .piece = 512, .stages = 4, .copy = copy_method::async, .product = inner_product::fma}>(),
    host_instance_of<c0, policy{.threads = 128, .min_blocks = 4, .rows = 2, .columns = 1, .piece = 256, .stages = 4, .copy = copy_method::async, .product = inner_product::fma}>(),
    host_instance_of<c0, policy{.threads = 128, .min_blocks = 3, .rows = 2, .columns = 8, .piece = 256, .stages = 4, .copy = copy_method::async, .product = inner_product::fma}>(),
    host_instance_of<c1, policy{.threads = 256, .min_blocks = 3, .rows = 1, .columns = 1, .piece = 512, .stages = 4, .copy = copy_method::async, .product = inner_product::fma, .placement = norm_placement::passing}>(),
};

}  // namespace catena::instances::host_other_matvec_f32_0
