// Generated from generators/catalogue.hpp and generators/policies.cpp: do not edit, regenerate. Hash c21811b996febff3.
// Host kernels: row_add_rms_norm_mul_bias_0.
#include "catena/instances/host_instance.hpp"

namespace catena::instances::host_row_add_rms_norm_mul_bias_0 {

constexpr computation c0 = {.kind = skeleton::row, .stages = stage_set::of(stage_kind::add_residual) | stage_kind::rms_norm | stage_kind::mul_weight | stage_kind::add_bias, .emits = format_set::of(format::f32) | format::f16 | format::bf16 | format::int8_token | format::fp8_tensor | format::fp8_token | format::fp8_group | format::mxfp8_rows | format::mxfp4_rows | format::nvfp4_rows};

extern const host_instance kernels[4];
const host_instance kernels[4] = {
    host_instance_of<c0, policy{.threads = 256, .values = 8, .vector = true}>(),
    host_instance_of<c0, policy{.threads = 1024, .values = 8, .vector = true}>(),
    host_instance_of<c0, policy{.threads = 1024, .vector = true}>(),
    host_instance_of<c0, policy{.threads = 256}>(),
};

}  // namespace catena::instances::host_row_add_rms_norm_mul_bias_0
