// Generated from generators/catalogue.hpp and generators/policies.cpp: do not edit, regenerate. Hash 451f6d4fc38f5b19.
// sm_75: row_add_rms_norm_mul_bias.
#include "catena/instances/device_instance.cuh"

namespace catena::instances::sm_75_row_add_rms_norm_mul_bias {

constexpr computation c0 = {.kind = skeleton::row, .stages = stage_set::of(stage_kind::add_residual) | stage_kind::rms_norm | stage_kind::mul_weight | stage_kind::add_bias, .emits = format_set::of(format::f32) | format::f16 | format::bf16 | format::int8_token | format::fp8_tensor | format::fp8_token | format::fp8_group | format::mxfp8_rows | format::mxfp4_rows | format::nvfp4_rows};

constexpr policy p0 = {.threads = 256, .values = 8, .vector = true};
extern "C" __global__ __launch_bounds__(p0.threads, p0.min_blocks) void
catena_add_rms_norm_mul_bias_f32_f16_bf16_int8_token_fp8_tensor_fp8_token_fp8_group_mxfp8_rows_mxfp4_rows_nvfp4_rows_t256_v8_vec_sm_75(const __grid_constant__ row_args args) {
    run_on_device<c0, p0>(args);
}

constexpr policy p1 = {.threads = 1024, .values = 8, .vector = true};
extern "C" __global__ __launch_bounds__(p1.threads, p1.min_blocks) void
catena_add_rms_norm_mul_bias_f32_f16_bf16_int8_token_fp8_tensor_fp8_token_fp8_group_mxfp8_rows_mxfp4_rows_nvfp4_rows_t1024_v8_vec_sm_75(const __grid_constant__ row_args args) {
    run_on_device<c0, p1>(args);
}

constexpr policy p2 = {.threads = 1024, .vector = true};
extern "C" __global__ __launch_bounds__(p2.threads, p2.min_blocks) void
catena_add_rms_norm_mul_bias_f32_f16_bf16_int8_token_fp8_tensor_fp8_token_fp8_group_mxfp8_rows_mxfp4_rows_nvfp4_rows_t1024_v0_vec_sm_75(const __grid_constant__ row_args args) {
    run_on_device<c0, p2>(args);
}

constexpr policy p3 = {.threads = 256};
extern "C" __global__ __launch_bounds__(p3.threads, p3.min_blocks) void
catena_add_rms_norm_mul_bias_f32_f16_bf16_int8_token_fp8_tensor_fp8_token_fp8_group_mxfp8_rows_mxfp4_rows_nvfp4_rows_t256_v0_sm_75(const __grid_constant__ row_args args) {
    run_on_device<c0, p3>(args);
}

extern const void* const kernels[4];
const void* const kernels[4] = {
    reinterpret_cast<const void*>(&catena_add_rms_norm_mul_bias_f32_f16_bf16_int8_token_fp8_tensor_fp8_token_fp8_group_mxfp8_rows_mxfp4_rows_nvfp4_rows_t256_v8_vec_sm_75),
    reinterpret_cast<const void*>(&catena_add_rms_norm_mul_bias_f32_f16_bf16_int8_token_fp8_tensor_fp8_token_fp8_group_mxfp8_rows_mxfp4_rows_nvfp4_rows_t1024_v8_vec_sm_75),
    reinterpret_cast<const void*>(&catena_add_rms_norm_mul_bias_f32_f16_bf16_int8_token_fp8_tensor_fp8_token_fp8_group_mxfp8_rows_mxfp4_rows_nvfp4_rows_t1024_v0_vec_sm_75),
    reinterpret_cast<const void*>(&catena_add_rms_norm_mul_bias_f32_f16_bf16_int8_token_fp8_tensor_fp8_token_fp8_group_mxfp8_rows_mxfp4_rows_nvfp4_rows_t256_v0_sm_75),
};

}  // namespace catena::instances::sm_75_row_add_rms_norm_mul_bias
