// Generated from generators/catalogue.hpp and generators/policies.cpp: do not edit, regenerate. Hash 63f6703fd05f931c.
// sm_90: row_add_layer_norm_mul_bias.
#include "catena/instances/device_instance.cuh"

namespace catena::instances::sm_90_row_add_layer_norm_mul_bias {

constexpr computation c0 = {.kind = skeleton::row, .stages = stage_set::of(stage_kind::add_residual) | stage_kind::layer_norm | stage_kind::mul_weight | stage_kind::add_bias, .emits = format_set::of(format::f32) | format::f16 | format::bf16 | format::q8_1 | format::q8_1_mmq_d4 | format::q8_1_mmq_ds4 | format::q8_1_mmq_d2s6 | format::bf16_mma | format::f16_mma};

constexpr policy p0 = {.threads = 512, .values = 8, .vector = true};
extern "C" __global__ __launch_bounds__(p0.threads, p0.min_blocks) void
catena_add_layer_norm_mul_bias_f32_f16_bf16_q8_1_q8_1_mmq_d4_q8_1_mmq_ds4_q8_1_mmq_d2s6_bf16_mma_f16_mma_t512_v8_vec_sm_90(const __grid_constant__ row_args args) {
    run_on_device<c0, p0>(args);
}

constexpr policy p1 = {.threads = 1024, .values = 8, .vector = true};
extern "C" __global__ __launch_bounds__(p1.threads, p1.min_blocks) void
catena_add_layer_norm_mul_bias_f32_f16_bf16_q8_1_q8_1_mmq_d4_q8_1_mmq_ds4_q8_1_mmq_d2s6_bf16_mma_f16_mma_t1024_v8_vec_sm_90(const __grid_constant__ row_args args) {
    run_on_device<c0, p1>(args);
}

constexpr policy p2 = {.threads = 1024, .vector = true};
extern "C" __global__ __launch_bounds__(p2.threads, p2.min_blocks) void
catena_add_layer_norm_mul_bias_f32_f16_bf16_q8_1_q8_1_mmq_d4_q8_1_mmq_ds4_q8_1_mmq_d2s6_bf16_mma_f16_mma_t1024_v0_vec_sm_90(const __grid_constant__ row_args args) {
    run_on_device<c0, p2>(args);
}

constexpr policy p3 = {.threads = 256};
extern "C" __global__ __launch_bounds__(p3.threads, p3.min_blocks) void
catena_add_layer_norm_mul_bias_f32_f16_bf16_q8_1_q8_1_mmq_d4_q8_1_mmq_ds4_q8_1_mmq_d2s6_bf16_mma_f16_mma_t256_v0_sm_90(const __grid_constant__ row_args args) {
    run_on_device<c0, p3>(args);
}

constexpr computation c1 = {.kind = skeleton::row, .stages = stage_set::of(stage_kind::add_residual) | stage_kind::layer_norm | stage_kind::mul_weight | stage_kind::add_bias, .emits = format_set::of(format::f32) | format::f16 | format::bf16 | format::int8_token | format::fp8_tensor | format::fp8_token | format::fp8_group | format::mxfp8_rows | format::mxfp4_rows | format::nvfp4_rows};

constexpr policy p4 = {.threads = 256, .values = 8, .vector = true};
extern "C" __global__ __launch_bounds__(p4.threads, p4.min_blocks) void
catena_add_layer_norm_mul_bias_f32_f16_bf16_int8_token_fp8_tensor_fp8_token_fp8_group_mxfp8_rows_mxfp4_rows_nvfp4_rows_t256_v8_vec_sm_90(const __grid_constant__ row_args args) {
    run_on_device<c1, p4>(args);
}

constexpr policy p5 = {.threads = 1024, .values = 8, .vector = true};
extern "C" __global__ __launch_bounds__(p5.threads, p5.min_blocks) void
catena_add_layer_norm_mul_bias_f32_f16_bf16_int8_token_fp8_tensor_fp8_token_fp8_group_mxfp8_rows_mxfp4_rows_nvfp4_rows_t1024_v8_vec_sm_90(const __grid_constant__ row_args args) {
    run_on_device<c1, p5>(args);
}

constexpr policy p6 = {.threads = 1024, .vector = true};
extern "C" __global__ __launch_bounds__(p6.threads, p6.min_blocks) void
catena_add_layer_norm_mul_bias_f32_f16_bf16_int8_token_fp8_tensor_fp8_token_fp8_group_mxfp8_rows_mxfp4_rows_nvfp4_rows_t1024_v0_vec_sm_90(const __grid_constant__ row_args args) {
    run_on_device<c1, p6>(args);
}

constexpr policy p7 = {.threads = 256};
extern "C" __global__ __launch_bounds__(p7.threads, p7.min_blocks) void
catena_add_layer_norm_mul_bias_f32_f16_bf16_int8_token_fp8_tensor_fp8_token_fp8_group_mxfp8_rows_mxfp4_rows_nvfp4_rows_t256_v0_sm_90(const __grid_constant__ row_args args) {
    run_on_device<c1, p7>(args);
}

extern const void* const kernels[8];
const void* const kernels[8] = {
    reinterpret_cast<const void*>(&catena_add_layer_norm_mul_bias_f32_f16_bf16_q8_1_q8_1_mmq_d4_q8_1_mmq_ds4_q8_1_mmq_d2s6_bf16_mma_f16_mma_t512_v8_vec_sm_90),
    reinterpret_cast<const void*>(&catena_add_layer_norm_mul_bias_f32_f16_bf16_q8_1_q8_1_mmq_d4_q8_1_mmq_ds4_q8_1_mmq_d2s6_bf16_mma_f16_mma_t1024_v8_vec_sm_90),
    reinterpret_cast<const void*>(&catena_add_layer_norm_mul_bias_f32_f16_bf16_q8_1_q8_1_mmq_d4_q8_1_mmq_ds4_q8_1_mmq_d2s6_bf16_mma_f16_mma_t1024_v0_vec_sm_90),
    reinterpret_cast<const void*>(&catena_add_layer_norm_mul_bias_f32_f16_bf16_q8_1_q8_1_mmq_d4_q8_1_mmq_ds4_q8_1_mmq_d2s6_bf16_mma_f16_mma_t256_v0_sm_90),
    reinterpret_cast<const void*>(&catena_add_layer_norm_mul_bias_f32_f16_bf16_int8_token_fp8_tensor_fp8_token_fp8_group_mxfp8_rows_mxfp4_rows_nvfp4_rows_t256_v8_vec_sm_90),
    reinterpret_cast<const void*>(&catena_add_layer_norm_mul_bias_f32_f16_bf16_int8_token_fp8_tensor_fp8_token_fp8_group_mxfp8_rows_mxfp4_rows_nvfp4_rows_t1024_v8_vec_sm_90),
    reinterpret_cast<const void*>(&catena_add_layer_norm_mul_bias_f32_f16_bf16_int8_token_fp8_tensor_fp8_token_fp8_group_mxfp8_rows_mxfp4_rows_nvfp4_rows_t1024_v0_vec_sm_90),
    reinterpret_cast<const void*>(&catena_add_layer_norm_mul_bias_f32_f16_bf16_int8_token_fp8_tensor_fp8_token_fp8_group_mxfp8_rows_mxfp4_rows_nvfp4_rows_t256_v0_sm_90),
};

}  // namespace catena::instances::sm_90_row_add_layer_norm_mul_bias
