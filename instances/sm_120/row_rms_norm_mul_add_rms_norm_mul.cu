// Generated from generators/catalogue.hpp and generators/policies.cpp: do not edit, regenerate. Hash 59dafcf374db64f1.
// sm_120: row_rms_norm_mul_add_rms_norm_mul.
#include "catena/instances/device_instance.cuh"

namespace catena::instances::sm_120_row_rms_norm_mul_add_rms_norm_mul {

constexpr computation c0 = {.kind = skeleton::row, .stages = stage_set::of(stage_kind::rms_norm) | stage_kind::mul_weight | stage_kind::join_residual | stage_kind::next_norm | stage_kind::mul_next_weight, .emits = format_set::of(format::f32) | format::f16 | format::bf16 | format::q8_1 | format::q8_1_mmq_d4 | format::q8_1_mmq_ds4 | format::q8_1_mmq_d2s6 | format::bf16_mma | format::f16_mma};

constexpr policy p0 = {.threads = 768, .values = 8, .vector = true};
extern "C" __global__ __launch_bounds__(p0.threads, p0.min_blocks) void
catena_rms_norm_mul_add_rms_norm_mul_f32_f16_bf16_q8_1_q8_1_mmq_d4_q8_1_mmq_ds4_q8_1_mmq_d2s6_bf16_mma_f16_mma_t768_v8_vec_sm_120(const __grid_constant__ row_args args) {
    run_on_device<c0, p0>(args);
}

constexpr policy p1 = {.threads = 256};
extern "C" __global__ __launch_bounds__(p1.threads, p1.min_blocks) void
catena_rms_norm_mul_add_rms_norm_mul_f32_f16_bf16_q8_1_q8_1_mmq_d4_q8_1_mmq_ds4_q8_1_mmq_d2s6_bf16_mma_f16_mma_t256_v0_sm_120(const __grid_constant__ row_args args) {
    run_on_device<c0, p1>(args);
}

extern const void* const kernels[2];
const void* const kernels[2] = {
    reinterpret_cast<const void*>(&catena_rms_norm_mul_add_rms_norm_mul_f32_f16_bf16_q8_1_q8_1_mmq_d4_q8_1_mmq_ds4_q8_1_mmq_d2s6_bf16_mma_f16_mma_t768_v8_vec_sm_120),
    reinterpret_cast<const void*>(&catena_rms_norm_mul_add_rms_norm_mul_f32_f16_bf16_q8_1_q8_1_mmq_d4_q8_1_mmq_ds4_q8_1_mmq_d2s6_bf16_mma_f16_mma_t256_v0_sm_120),
};

}  // namespace catena::instances::sm_120_row_rms_norm_mul_add_rms_norm_mul
