// Generated from generators/catalogue.hpp and generators/policies.cpp: do not edit, regenerate. Hash 8b9dad2e495485fe.
// Host kernels: matvec_q4_K_1.
#include "catena/instances/host_instance.hpp"

namespace catena::instances::host_matvec_q4_K_1 {

constexpr computation c0 = {.kind = skeleton::matvec, .stages = stage_set::of(stage_kind::rms_norm) | stage_kind::mul_weight, .activation = format::q8_1, .weights = format_set::of(format::q4_K), .epilogue = epilogue_set::of(epilogue_part::scale) | epilogue_part::factor | epilogue_part::bias | epilogue_part::glu | epilogue_part::act | epilogue_part::combine | epilogue_part::residual | epilogue_part::quantize};
constexpr computation c1 = {.kind = skeleton::matvec, .activation = format::q8_1, .weights = format_set::of(format::q4_K), .epilogue = epilogue_set::of(epilogue_part::scale) | epilogue_part::factor | epilogue_part::bias | epilogue_part::glu | epilogue_part::act | epilogue_part::combine | epilogue_part::residual | epilogue_part::quantize};

extern const host_instance kernels[6];
const host_instance kernels[6] = {
    host_instance_of<c0, policy{.threads = 512, .rows = 2, .columns = 1, .piece = 1024, .stages = 2, .activation = activation_source::shared, .placement = norm_placement::deferred}>(),
    host_instance_of<c1, policy{.threads = 128, .min_blocks = 4, .rows = 1, .columns = 1, .piece = 2048, .stages = 4, .copy = copy_method::async, .activation = activation_source::shared}>(),
    host_instance_of<c1, policy{.threads = 128, .min_blocks = 4, .rows = 2, .columns = 1, .piece = 1024, .stages = 4, .copy = copy_method::async, .activation = activation_source::shared}>(),
    host_instance_of<c1, policy{.threads = 64, .min_blocks = 6, .rows = 16, .columns = 8, .piece = 512, .stages = 3, .copy = copy_method::async, .activation = activation_source::shared, .product = inner_product::mma}>(),
    host_instance_of<c0, policy{.threads = 512, .rows = 2, .columns = 1, .piece = 1024, .stages = 4, .copy = copy_method::async, .activation = activation_source::shared, .placement = norm_placement::deferred}>(),
    host_instance_of<c1, policy{.threads = 128, .min_blocks = 4, .rows = 2, .columns = 1, .piece = 1024, .stages = 4, .copy = copy_method::bulk, .activation = activation_source::shared}>(),
};

}  // namespace catena::instances::host_matvec_q4_K_1
