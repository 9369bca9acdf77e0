// Generated from generators/catalogue.hpp and generators/policies.cpp: do not edit, regenerate. Hash eba3388d78d5329e.
// sm_90: row.
#include "catena/instances/device_instance.cuh"

namespace catena::instances::sm_90_row {

constexpr policy p0 = {.threads = 128, .values = 8, .vector = true};
extern "C" __global__ __launch_bounds__(p0.threads, p0.min_blocks) void
catena_add_rms_norm_mul_f32_f16_bf16_q8_1_q8_1_mmq_d4_q8_1_mmq_ds4_t128_v8_vec_sm_90(const __grid_constant__ row_args args) {
    run_on_device<value_kind::rms_norm, p0>(args);
}

constexpr policy p1 = {.threads = 256, .values = 8, .vector = true};
extern "C" __global__ __launch_bounds__(p1.threads, p1.min_blocks) void
catena_add_rms_norm_mul_f32_f16_bf16_q8_1_q8_1_mmq_d4_q8_1_mmq_ds4_t256_v8_vec_sm_90(const __grid_constant__ row_args args) {
    run_on_device<value_kind::rms_norm, p1>(args);
}

constexpr policy p2 = {.threads = 512, .values = 8, .vector = true};
extern "C" __global__ __launch_bounds__(p2.threads, p2.min_blocks) void
catena_add_rms_norm_mul_f32_f16_bf16_q8_1_q8_1_mmq_d4_q8_1_mmq_ds4_t512_v8_vec_sm_90(const __grid_constant__ row_args args) {
    run_on_device<value_kind::rms_norm, p2>(args);
}

constexpr policy p3 = {.threads = 1024, .values = 8, .vector = true};
extern "C" __global__ __launch_bounds__(p3.threads, p3.min_blocks) void
catena_add_rms_norm_mul_f32_f16_bf16_q8_1_q8_1_mmq_d4_q8_1_mmq_ds4_t1024_v8_vec_sm_90(const __grid_constant__ row_args args) {
    run_on_device<value_kind::rms_norm, p3>(args);
}

constexpr policy p4 = {.threads = 1024, .values = 16, .vector = true};
extern "C" __global__ __launch_bounds__(p4.threads, p4.min_blocks) void
catena_add_rms_norm_mul_f32_f16_bf16_q8_1_q8_1_mmq_d4_q8_1_mmq_ds4_t1024_v16_vec_sm_90(const __grid_constant__ row_args args) {
    run_on_device<value_kind::rms_norm, p4>(args);
}

constexpr policy p5 = {.threads = 256};
extern "C" __global__ __launch_bounds__(p5.threads, p5.min_blocks) void
catena_add_rms_norm_mul_f32_f16_bf16_q8_1_q8_1_mmq_d4_q8_1_mmq_ds4_t256_v0_sm_90(const __grid_constant__ row_args args) {
    run_on_device<value_kind::rms_norm, p5>(args);
}

constexpr policy p6 = {.threads = 128, .values = 8, .vector = true};
extern "C" __global__ __launch_bounds__(p6.threads, p6.min_blocks) void
catena_glu_f32_f16_bf16_q8_1_q8_1_mmq_d4_q8_1_mmq_ds4_t128_v8_vec_sm_90(const __grid_constant__ row_args args) {
    run_on_device<value_kind::glu, p6>(args);
}

constexpr policy p7 = {.threads = 512, .values = 8, .vector = true};
extern "C" __global__ __launch_bounds__(p7.threads, p7.min_blocks) void
catena_glu_f32_f16_bf16_q8_1_q8_1_mmq_d4_q8_1_mmq_ds4_t512_v8_vec_sm_90(const __grid_constant__ row_args args) {
    run_on_device<value_kind::glu, p7>(args);
}

constexpr policy p8 = {.threads = 1024, .vector = true};
extern "C" __global__ __launch_bounds__(p8.threads, p8.min_blocks) void
catena_glu_f32_f16_bf16_q8_1_q8_1_mmq_d4_q8_1_mmq_ds4_t1024_v0_vec_sm_90(const __grid_constant__ row_args args) {
    run_on_device<value_kind::glu, p8>(args);
}

constexpr policy p9 = {.threads = 256};
extern "C" __global__ __launch_bounds__(p9.threads, p9.min_blocks) void
catena_glu_f32_f16_bf16_q8_1_q8_1_mmq_d4_q8_1_mmq_ds4_t256_v0_sm_90(const __grid_constant__ row_args args) {
    run_on_device<value_kind::glu, p9>(args);
}

constexpr policy p10 = {.threads = 128, .values = 8, .vector = true};
extern "C" __global__ __launch_bounds__(p10.threads, p10.min_blocks) void
catena_quantize_q8_1_q8_1_mmq_d4_q8_1_mmq_ds4_t128_v8_vec_sm_90(const __grid_constant__ row_args args) {
    run_on_device<value_kind::plain, p10>(args);
}

constexpr policy p11 = {.threads = 256, .values = 8, .vector = true};
extern "C" __global__ __launch_bounds__(p11.threads, p11.min_blocks) void
catena_quantize_q8_1_q8_1_mmq_d4_q8_1_mmq_ds4_t256_v8_vec_sm_90(const __grid_constant__ row_args args) {
    run_on_device<value_kind::plain, p11>(args);
}

constexpr policy p12 = {.threads = 512, .values = 8, .vector = true};
extern "C" __global__ __launch_bounds__(p12.threads, p12.min_blocks) void
catena_quantize_q8_1_q8_1_mmq_d4_q8_1_mmq_ds4_t512_v8_vec_sm_90(const __grid_constant__ row_args args) {
    run_on_device<value_kind::plain, p12>(args);
}

constexpr policy p13 = {.threads = 1024, .values = 8, .vector = true};
extern "C" __global__ __launch_bounds__(p13.threads, p13.min_blocks) void
catena_quantize_q8_1_q8_1_mmq_d4_q8_1_mmq_ds4_t1024_v8_vec_sm_90(const __grid_constant__ row_args args) {
    run_on_device<value_kind::plain, p13>(args);
}

constexpr policy p14 = {.threads = 1024, .values = 16, .vector = true};
extern "C" __global__ __launch_bounds__(p14.threads, p14.min_blocks) void
catena_quantize_q8_1_q8_1_mmq_d4_q8_1_mmq_ds4_t1024_v16_vec_sm_90(const __grid_constant__ row_args args) {
    run_on_device<value_kind::plain, p14>(args);
}

constexpr policy p15 = {.threads = 256};
extern "C" __global__ __launch_bounds__(p15.threads, p15.min_blocks) void
catena_quantize_q8_1_q8_1_mmq_d4_q8_1_mmq_ds4_t256_v0_sm_90(const __grid_constant__ row_args args) {
    run_on_device<value_kind::plain, p15>(args);
}

extern const void* const kernels[16];
const void* const kernels[16] = {
    reinterpret_cast<const void*>(&catena_add_rms_norm_mul_f32_f16_bf16_q8_1_q8_1_mmq_d4_q8_1_mmq_ds4_t128_v8_vec_sm_90),
    reinterpret_cast<const void*>(&catena_add_rms_norm_mul_f32_f16_bf16_q8_1_q8_1_mmq_d4_q8_1_mmq_ds4_t256_v8_vec_sm_90),
    reinterpret_cast<const void*>(&catena_add_rms_norm_mul_f32_f16_bf16_q8_1_q8_1_mmq_d4_q8_1_mmq_ds4_t512_v8_vec_sm_90),
    reinterpret_cast<const void*>(&catena_add_rms_norm_mul_f32_f16_bf16_q8_1_q8_1_mmq_d4_q8_1_mmq_ds4_t1024_v8_vec_sm_90),
    reinterpret_cast<const void*>(&catena_add_rms_norm_mul_f32_f16_bf16_q8_1_q8_1_mmq_d4_q8_1_mmq_ds4_t1024_v16_vec_sm_90),
    reinterpret_cast<const void*>(&catena_add_rms_norm_mul_f32_f16_bf16_q8_1_q8_1_mmq_d4_q8_1_mmq_ds4_t256_v0_sm_90),
    reinterpret_cast<const void*>(&catena_glu_f32_f16_bf16_q8_1_q8_1_mmq_d4_q8_1_mmq_ds4_t128_v8_vec_sm_90),
    reinterpret_cast<const void*>(&catena_glu_f32_f16_bf16_q8_1_q8_1_mmq_d4_q8_1_mmq_ds4_t512_v8_vec_sm_90),
    reinterpret_cast<const void*>(&catena_glu_f32_f16_bf16_q8_1_q8_1_mmq_d4_q8_1_mmq_ds4_t1024_v0_vec_sm_90),
    reinterpret_cast<const void*>(&catena_glu_f32_f16_bf16_q8_1_q8_1_mmq_d4_q8_1_mmq_ds4_t256_v0_sm_90),
    reinterpret_cast<const void*>(&catena_quantize_q8_1_q8_1_mmq_d4_q8_1_mmq_ds4_t128_v8_vec_sm_90),
    reinterpret_cast<const void*>(&catena_quantize_q8_1_q8_1_mmq_d4_q8_1_mmq_ds4_t256_v8_vec_sm_90),
    reinterpret_cast<const void*>(&catena_quantize_q8_1_q8_1_mmq_d4_q8_1_mmq_ds4_t512_v8_vec_sm_90),
    reinterpret_cast<const void*>(&catena_quantize_q8_1_q8_1_mmq_d4_q8_1_mmq_ds4_t1024_v8_vec_sm_90),
    reinterpret_cast<const void*>(&catena_quantize_q8_1_q8_1_mmq_d4_q8_1_mmq_ds4_t1024_v16_vec_sm_90),
    reinterpret_cast<const void*>(&catena_quantize_q8_1_q8_1_mmq_d4_q8_1_mmq_ds4_t256_v0_sm_90),
};

}  // namespace catena::instances::sm_90_row
