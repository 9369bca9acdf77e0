// Generated from generators/catalogue.hpp and generators/policies.cpp: do not edit, regenerate. Hash 050bfd9da92ca151.
// Host kernels: other_matvec_q8_0_1.
#include "catena/instances/host_instance.hpp"

namespace catena::instances::host_other_matvec_q8_0_1 {

constexpr computation c0 = {.kind = skeleton::matvec, .stages = stage_set::of(stage_kind::rms_norm) | stage_kind::mul_weight, .activation = format::q8_1, .weights = format_set::of(format::q8_0), .epilogue = epilogue_set::of(epilogue_part::scale) | epilogue_part::factor | epilogue_part::bias | epilogue_part::glu | epilogue_part::act | epilogue_part::combine | epilogue_part::residual | epilogue_part::quantize};
constexpr computation c1 = {.kind = skeleton::matvec, .activation = format::q8_1, .weights = format_set::of(format::q8_0), .epilogue = epilogue_set::of(epilogue_part::scale) | epilogue_part::factor | epilogue_part::bias | epilogue_part::glu | epilogue_part::act | epilogue_part::combine | epilogue_part::residual | epilogue_part::quantize};

extern const host_instance kernels[3];
const host_instance kernels[3] = {
    host_instance_of<c0, policy{.threads = 256, .rows = 2, .columns = 1, .piece = 1024, .stages = 4, .copy = copy_method::async, .activation = activation_source::shared, .placement = norm_placement::deferred}>(),
    host_instance_of<c1, policy{.threads = 128, .min_blocks = 4, .rows = 2, .columns = 1, .piece = 1024, .stages = 4, .copy = copy_method::bulk, .activation = activation_source::shared}>(),
    host_instance_of<c0, policy{.threads = 256, .rows = 2, .columns = 1, .piece = 1024, .stages = 4, .copy = copy_method::bulk, .activation = activation_source::shared, .placement = norm_placement::deferred}>(),
};

}  // namespace catena::instances::host_other_matvec_q8_0_1
