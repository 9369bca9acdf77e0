// Generated from generators/catalogue.hpp and generators/policies.cpp: do not edit, regenerate. Hash 5a8c13676811ca5e.
// Host kernels: row_combine_add_rms_norm_mul_0.
#include "catena/instances/host_instance.hpp"

namespace catena::instances::host_row_combine_add_rms_norm_mul_0 {

constexpr computation c0 = {.kind = skeleton::row, .stages = stage_set::of(stage_kind::combine) | stage_kind::add_residual | stage_kind::rms_norm | stage_kind::mul_weight, .emits = format_set::of(format::f32) | format::f16 | format::bf16 | format::q8_1 | format::q8_1_mmq_d4 | format::q8_1_mmq_ds4 | format::q8_1_mmq_d2s6 | format::bf16_mma | format::f16_mma};

extern const host_instance kernels[6];
const host_instance kernels[6] = {
    host_instance_of<c0, policy{.threads = 256, .values = 8, .vector = true}>(),
    host_instance_of<c0, policy{.threads = 512, .values = 8, .vector = true}>(),
    host_instance_of<c0, policy{.threads = 1024, .values = 8, .vector = true}>(),
    host_instance_of<c0, policy{.threads = 1024, .values = 16, .vector = true}>(),
    host_instance_of<c0, policy{.threads = 1024, .vector = true}>(),
    host_instance_of<c0, policy{.threads = 256}>(),
};

}  // namespace catena::instances::host_row_combine_add_rms_norm_mul_0
