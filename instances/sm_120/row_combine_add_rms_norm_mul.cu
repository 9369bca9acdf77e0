// Generated from generators/catalogue.hpp and generators/policies.cpp: do not edit, regenerate. Hash 289f86f6a8130651.
// sm_120: row_combine_add_rms_norm_mul.
#include "catena/instances/device_instance.cuh"

namespace catena::instances::sm_120_row_combine_add_rms_norm_mul {

constexpr computation c0 = {.kind = skeleton::row, .stages = stage_set::of(stage_kind::combine) | stage_kind::add_residual | stage_kind::rms_norm | stage_kind::mul_weight, .emits = format_set::of(format::f32) | format::f16 | format::bf16 | format::q8_1 | format::q8_1_mmq_d4 | format::q8_1_mmq_ds4 | format::q8_1_mmq_d2s6 | format::bf16_mma | format::f16_mma};

constexpr policy p0 = {.threads = 256, .values = 8, .vector = true};
extern "C" __global__ __launch_bounds__(p0.threads, p0.min_blocks) void
catena_combine_add_rms_norm_mul_f32_f16_bf16_q8_1_q8_1_mmq_d4_q8_1_mmq_ds4_q8_1_mmq_d2s6_bf16_mma_f16_mma_t256_v8_vec_sm_120(const __grid_constant__ row_args args) {
    run_on_device<c0, p0>(args);
}

constexpr policy p1 = {.threads = 512, .values = 8, .vector = true};
extern "C" __global__ __launch_bounds__(p1.threads, p1.min_blocks) void
catena_combine_add_rms_norm_mul_f32_f16_bf16_q8_1_q8_1_mmq_d4_q8_1_mmq_ds4_q8_1_mmq_d2s6_bf16_mma_f16_mma_t512_v8_vec_sm_120(const __grid_constant__ row_args args) {
    run_on_device<c0, p1>(args);
}

constexpr policy p2 = {.threads = 1024, .values = 8, .vector = true};
extern "C" __global__ __launch_bounds__(p2.threads, p2.min_blocks) void
catena_combine_add_rms_norm_mul_f32_f16_bf16_q8_1_q8_1_mmq_d4_q8_1_mmq_ds4_q8_1_mmq_d2s6_bf16_mma_f16_mma_t1024_v8_vec_sm_120(const __grid_constant__ row_args args) {
    run_on_device<c0, p2>(args);
}

constexpr policy p3 = {.threads = 1024, .values = 16, .vector = true};
extern "C" __global__ __launch_bounds__(p3.threads, p3.min_blocks) void
catena_combine_add_rms_norm_mul_f32_f16_bf16_q8_1_q8_1_mmq_d4_q8_1_mmq_ds4_q8_1_mmq_d2s6_bf16_mma_f16_mma_t1024_v16_vec_sm_120(const __grid_constant__ row_args args) {
    run_on_device<c0, p3>(args);
}

constexpr policy p4 = {.threads = 1024, .vector = true};
extern "C" __global__ __launch_bounds__(p4.threads, p4.min_blocks) void
catena_combine_add_rms_norm_mul_f32_f16_bf16_q8_1_q8_1_mmq_d4_q8_1_mmq_ds4_q8_1_mmq_d2s6_bf16_mma_f16_mma_t1024_v0_vec_sm_120(const __grid_constant__ row_args args) {
    run_on_device<c0, p4>(args);
}

constexpr policy p5 = {.threads = 256};
extern "C" __global__ __launch_bounds__(p5.threads, p5.min_blocks) void
catena_combine_add_rms_norm_mul_f32_f16_bf16_q8_1_q8_1_mmq_d4_q8_1_mmq_ds4_q8_1_mmq_d2s6_bf16_mma_f16_mma_t256_v0_sm_120(const __grid_constant__ row_args args) {
    run_on_device<c0, p5>(args);
}

extern const void* const kernels[6];
const void* const kernels[6] = {
    reinterpret_cast<const void*>(&catena_combine_add_rms_norm_mul_f32_f16_bf16_q8_1_q8_1_mmq_d4_q8_1_mmq_ds4_q8_1_mmq_d2s6_bf16_mma_f16_mma_t256_v8_vec_sm_120),
    reinterpret_cast<const void*>(&catena_combine_add_rms_norm_mul_f32_f16_bf16_q8_1_q8_1_mmq_d4_q8_1_mmq_ds4_q8_1_mmq_d2s6_bf16_mma_f16_mma_t512_v8_vec_sm_120),
    reinterpret_cast<const void*>(&catena_combine_add_rms_norm_mul_f32_f16_bf16_q8_1_q8_1_mmq_d4_q8_1_mmq_ds4_q8_1_mmq_d2s6_bf16_mma_f16_mma_t1024_v8_vec_sm_120),
    reinterpret_cast<const void*>(&catena_combine_add_rms_norm_mul_f32_f16_bf16_q8_1_q8_1_mmq_d4_q8_1_mmq_ds4_q8_1_mmq_d2s6_bf16_mma_f16_mma_t1024_v16_vec_sm_120),
    reinterpret_cast<const void*>(&catena_combine_add_rms_norm_mul_f32_f16_bf16_q8_1_q8_1_mmq_d4_q8_1_mmq_ds4_q8_1_mmq_d2s6_bf16_mma_f16_mma_t1024_v0_vec_sm_120),
    reinterpret_cast<const void*>(&catena_combine_add_rms_norm_mul_f32_f16_bf16_q8_1_q8_1_mmq_d4_q8_1_mmq_ds4_q8_1_mmq_d2s6_bf16_mma_f16_mma_t256_v0_sm_120),
};

}  // namespace catena::instances::sm_120_row_combine_add_rms_norm_mul
