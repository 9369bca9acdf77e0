// Generated from generators/catalogue.hpp and generators/policies.cpp: do not edit, regenerate. Hash 3413d08462a2afa4.
// Host kernels: row_add_layer_norm_mul_bias_1.
#include "catena/instances/host_instance.hpp"

namespace catena::instances::host_row_add_layer_norm_mul_bias_1 {

constexpr computation c0 = {.kind = skeleton::row, .value = value_kind::layer_norm, .residual = true, .scale = true, .bias = true, .emits = format_set::of(format::f32) | format::f16 | format::bf16 | format::int8_token | format::fp8_tensor | format::fp8_token | format::fp8_group | format::mxfp8_rows | format::mxfp4_rows | format::nvfp4_rows};

extern const host_instance kernels[1];
const host_instance kernels[1] = {
    host_instance_of<c0, policy{.threads = 256}>(),
};

}  // namespace catena::instances::host_row_add_layer_norm_mul_bias_1
