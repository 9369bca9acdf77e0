// Generated from generators/catalogue.hpp and generators/policies.cpp: do not edit, regenerate. Hash dd8f1f456c519f0e.
// sm_90: matmul_fp8_e4m3.
#include "catena/instances/device_instance.cuh"

namespace catena::instances::sm_90_matmul_fp8_e4m3 {

constexpr format_set weights = format_set::of(format::fp8_e4m3);

constexpr policy p0 = {.threads = 256, .rows = 32, .columns = 128, .piece = 128, .stages = 4, .copy = copy_method::async, .product = inner_product::wgmma};
extern "C" __global__ __launch_bounds__(p0.threads, p0.min_blocks) void
catena_mul_mat_tiles_fp8_e4m3_t256_r32_c128_p128_s4_async_wgmma_sm_90(const __grid_constant__ matmul_args args) {
    run_on_device<format::fp8_group, weights, p0>(args);
}

constexpr policy p1 = {.threads = 256, .rows = 16, .columns = 128, .piece = 128, .stages = 4, .cluster = 4, .copy = copy_method::async, .product = inner_product::wgmma};
extern "C" __global__ __launch_bounds__(p1.threads, p1.min_blocks) void
catena_mul_mat_tiles_fp8_e4m3_t256_r16_c128_p128_s4_async_cluster4_wgmma_sm_90(const __grid_constant__ matmul_args args) {
    run_on_device<format::fp8_group, weights, p1>(args);
}

constexpr policy p2 = {.threads = 256, .rows = 16, .columns = 64, .piece = 128, .stages = 4, .copy = copy_method::bulk};
extern "C" __global__ __launch_bounds__(p2.threads, p2.min_blocks) void
catena_mul_mat_tiles_fp8_e4m3_t256_r16_c64_p128_s4_bulk_sm_90(const __grid_constant__ matmul_args args) {
    run_on_device<format::fp8_group, weights, p2>(args);
}

constexpr policy p3 = {.threads = 128, .min_blocks = 2, .rows = 16, .columns = 32, .piece = 128, .stages = 4, .slices = 4, .copy = copy_method::bulk};
extern "C" __global__ __launch_bounds__(p3.threads, p3.min_blocks) void
catena_mul_mat_tiles_fp8_e4m3_t128_m2_r16_c32_p128_s4_bulk_k4_sm_90(const __grid_constant__ matmul_args args) {
    run_on_device<format::fp8_group, weights, p3>(args);
}

constexpr policy p4 = {.threads = 128, .rows = 16, .columns = 32, .piece = 128, .stages = 2};
extern "C" __global__ __launch_bounds__(p4.threads, p4.min_blocks) void
catena_mul_mat_tiles_fp8_e4m3_t128_r16_c32_p128_s2_plain_sm_90(const __grid_constant__ matmul_args args) {
    run_on_device<format::fp8_group, weights, p4>(args);
}

extern const void* const kernels[5];
const void* const kernels[5] = {
    reinterpret_cast<const void*>(&catena_mul_mat_tiles_fp8_e4m3_t256_r32_c128_p128_s4_async_wgmma_sm_90),
    reinterpret_cast<const void*>(&catena_mul_mat_tiles_fp8_e4m3_t256_r16_c128_p128_s4_async_cluster4_wgmma_sm_90),
    reinterpret_cast<const void*>(&catena_mul_mat_tiles_fp8_e4m3_t256_r16_c64_p128_s4_bulk_sm_90),
    reinterpret_cast<const void*>(&catena_mul_mat_tiles_fp8_e4m3_t128_m2_r16_c32_p128_s4_bulk_k4_sm_90),
    reinterpret_cast<const void*>(&catena_mul_mat_tiles_fp8_e4m3_t128_r16_c32_p128_s2_plain_sm_90),
};

}  // namespace catena::instances::sm_90_matmul_fp8_e4m3
