// Generated from generators/catalogue.hpp and generators/policies.cpp: do not edit, regenerate. Hash c5d6cced07662aea.
// sm_75: matvec_f32.
#include "catena/instances/device_instance.cuh"

namespace catena::instances::sm_75_matvec_f32 {

constexpr format_set weights = format_set::of(format::f32);

constexpr policy p0 = {.threads = 128, .min_blocks = 4, .rows = 1, .columns = 1, .piece = 512, .stages = 2, .product = inner_product::fma};
extern "C" __global__ __launch_bounds__(p0.threads * p0.min_blocks, 1) void
catena_mul_mat_f32_t128_m4_r1_c1_p512_s2_plain_global_fma_sm_75(const __grid_constant__ matvec_args args) {
    run_on_device<weights, p0>(args);
}

constexpr policy p1 = {.threads = 128, .min_blocks = 4, .rows = 2, .columns = 1, .piece = 256, .stages = 2, .product = inner_product::fma};
extern "C" __global__ __launch_bounds__(p1.threads * p1.min_blocks, 1) void
catena_mul_mat_f32_t128_m4_r2_c1_p256_s2_plain_global_fma_sm_75(const __grid_constant__ matvec_args args) {
    run_on_device<weights, p1>(args);
}

constexpr policy p2 = {.threads = 128, .min_blocks = 3, .rows = 2, .columns = 8, .piece = 256, .stages = 2, .product = inner_product::fma};
extern "C" __global__ __launch_bounds__(p2.threads * p2.min_blocks, 1) void
catena_mul_mat_f32_t128_m3_r2_c8_p256_s2_plain_global_fma_sm_75(const __grid_constant__ matvec_args args) {
    run_on_device<weights, p2>(args);
}

constexpr policy p3 = {.threads = 64, .min_blocks = 4, .rows = 2, .columns = 8, .piece = 256, .stages = 2, .product = inner_product::fma};
extern "C" __global__ __launch_bounds__(p3.threads * p3.min_blocks, 1) void
catena_mul_mat_f32_t64_m4_r2_c8_p256_s2_plain_global_fma_sm_75(const __grid_constant__ matvec_args args) {
    run_on_device<weights, p3>(args);
}

constexpr policy p4 = {.threads = 256, .min_blocks = 3, .rows = 1, .columns = 1, .piece = 512, .stages = 2, .product = inner_product::fma, .placement = norm_placement::passing};
extern "C" __global__ __launch_bounds__(p4.threads * p4.min_blocks, 1) void
catena_rms_norm_mul_mul_mat_f32_t256_m3_r1_c1_p512_s2_plain_global_fma_passing_sm_75(const __grid_constant__ matvec_args args) {
    run_on_device<weights, p4>(args);
}

extern const void* const kernels[5];
const void* const kernels[5] = {
    reinterpret_cast<const void*>(&catena_mul_mat_f32_t128_m4_r1_c1_p512_s2_plain_global_fma_sm_75),
    reinterpret_cast<const void*>(&catena_mul_mat_f32_t128_m4_r2_c1_p256_s2_plain_global_fma_sm_75),
    reinterpret_cast<const void*>(&catena_mul_mat_f32_t128_m3_r2_c8_p256_s2_plain_global_fma_sm_75),
    reinterpret_cast<const void*>(&catena_mul_mat_f32_t64_m4_r2_c8_p256_s2_plain_global_fma_sm_75),
    reinterpret_cast<const void*>(&catena_rms_norm_mul_mul_mat_f32_t256_m3_r1_c1_p512_s2_plain_global_fma_passing_sm_75),
};

}  // namespace catena::instances::sm_75_matvec_f32
