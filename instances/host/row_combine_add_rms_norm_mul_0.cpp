// Generated from generators/catalogue.hpp and generators/policies.cpp: do not edit, regenerate. Hash b5046906887963e7.
// Host kernels: row_combine_add_rms_norm_mul_0.
#include "catena/instances/host_instance.hpp"

namespace catena::instances::host_row_combine_add_rms_norm_mul_0 {

constexpr computation c0 = {.kind = skeleton::row, .value = value_kind::rms_norm, .experts = true, .residual = true, .scale = true, .emits = format_set::of(format::f32) | format::f16 | format::bf16 | format::q8_1 | format::q8_1_mmq_d4 | format::q8_1_mmq_ds4 | format::q8_1_mmq_d2s6 | format::bf16_mma | format::f16_mma};

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
