// Generated from generators/catalogue.hpp and generators/policies.cpp: do not edit, regenerate. Hash 9c3be0584097ff07.
// sm_90: matmul_f16.
#include "catena/instances/device_instance.cuh"

namespace catena::instances::sm_90_matmul_f16 {

constexpr format_set weights = format_set::of(format::f16);

constexpr policy p0 = {.threads = 256, .rows = 32, .columns = 128, .piece = 64, .stages = 3, .copy = copy_method::bulk};
extern "C" __global__ __launch_bounds__(p0.threads, p0.min_blocks) void
catena_mul_mat_tiles_f16_t256_r32_c128_p64_s3_bulk_sm_90(const __grid_constant__ matmul_args args) {
    run_on_device<format::f32, weights, p0>(args);
}

constexpr policy p1 = {.threads = 256, .min_blocks = 2, .rows = 16, .columns = 64, .piece = 64, .stages = 3, .copy = copy_method::bulk};
extern "C" __global__ __launch_bounds__(p1.threads, p1.min_blocks) void
catena_mul_mat_tiles_f16_t256_m2_r16_c64_p64_s3_bulk_sm_90(const __grid_constant__ matmul_args args) {
    run_on_device<format::f32, weights, p1>(args);
}

constexpr policy p2 = {.threads = 128, .min_blocks = 2, .rows = 16, .columns = 32, .piece = 64, .stages = 2, .slices = 4, .copy = copy_method::bulk};
extern "C" __global__ __launch_bounds__(p2.threads, p2.min_blocks) void
catena_mul_mat_tiles_f16_t128_m2_r16_c32_p64_s2_bulk_k4_sm_90(const __grid_constant__ matmul_args args) {
    run_on_device<format::f32, weights, p2>(args);
}

constexpr policy p3 = {.threads = 128, .rows = 16, .columns = 32, .piece = 64, .stages = 2};
extern "C" __global__ __launch_bounds__(p3.threads, p3.min_blocks) void
catena_mul_mat_tiles_f16_t128_r16_c32_p64_s2_plain_sm_90(const __grid_constant__ matmul_args args) {
    run_on_device<format::f32, weights, p3>(args);
}

constexpr policy p4 = {.threads = 256, .rows = 32, .columns = 128, .piece = 64, .stages = 4, .copy = copy_method::async, .product = inner_product::wgmma};
extern "C" __global__ __launch_bounds__(p4.threads, p4.min_blocks) void
catena_mul_mat_tiles_f16_t256_r32_c128_p64_s4_async_wgmma_sm_90(const __grid_constant__ matmul_args args) {
    run_on_device<format::f16_mma, weights, p4>(args);
}

constexpr policy p5 = {.threads = 256, .rows = 16, .columns = 128, .piece = 64, .stages = 4, .cluster = 4, .copy = copy_method::async, .product = inner_product::wgmma};
extern "C" __global__ __launch_bounds__(p5.threads, p5.min_blocks) void
catena_mul_mat_tiles_f16_t256_r16_c128_p64_s4_async_cluster4_wgmma_sm_90(const __grid_constant__ matmul_args args) {
    run_on_device<format::f16_mma, weights, p5>(args);
}

extern const void* const kernels[6];
const void* const kernels[6] = {
    reinterpret_cast<const void*>(&catena_mul_mat_tiles_f16_t256_r32_c128_p64_s3_bulk_sm_90),
    reinterpret_cast<const void*>(&catena_mul_mat_tiles_f16_t256_m2_r16_c64_p64_s3_bulk_sm_90),
    reinterpret_cast<const void*>(&catena_mul_mat_tiles_f16_t128_m2_r16_c32_p64_s2_bulk_k4_sm_90),
    reinterpret_cast<const void*>(&catena_mul_mat_tiles_f16_t128_r16_c32_p64_s2_plain_sm_90),
    reinterpret_cast<const void*>(&catena_mul_mat_tiles_f16_t256_r32_c128_p64_s4_async_wgmma_sm_90),
    reinterpret_cast<const void*>(&catena_mul_mat_tiles_f16_t256_r16_c128_p64_s4_async_cluster4_wgmma_sm_90),
};

}  // namespace catena::instances::sm_90_matmul_f16
