// Generated from generators/catalogue.hpp and generators/policies.cpp: do not edit, regenerate. Hash 52b572e876e9d1ec.
// sm_89: matmul_fp8_e4m3.
#include "catena/instances/device_instance.cuh"

namespace catena::instances::sm_89_matmul_fp8_e4m3 {

constexpr format_set weights = format_set::of(format::fp8_e4m3);

constexpr policy p0 = {.threads = 256, .rows = 16, .columns = 64, .piece = 128, .stages = 3, .copy = copy_method::async};
extern "C" __global__ __launch_bounds__(p0.threads, p0.min_blocks) void
catena_mul_mat_tiles_fp8_e4m3_t256_r16_c64_p128_s3_async_sm_89(const __grid_constant__ matmul_args args) {
    run_on_device<format::fp8_group, weights, p0>(args);
}

constexpr policy p1 = {.threads = 128, .rows = 16, .columns = 32, .piece = 128, .stages = 2, .slices = 4, .copy = copy_method::async};
extern "C" __global__ __launch_bounds__(p1.threads, p1.min_blocks) void
catena_mul_mat_tiles_fp8_e4m3_t128_r16_c32_p128_s2_async_k4_sm_89(const __grid_constant__ matmul_args args) {
    run_on_device<format::fp8_group, weights, p1>(args);
}

constexpr policy p2 = {.threads = 128, .rows = 16, .columns = 32, .piece = 128, .stages = 2};
extern "C" __global__ __launch_bounds__(p2.threads, p2.min_blocks) void
catena_mul_mat_tiles_fp8_e4m3_t128_r16_c32_p128_s2_plain_sm_89(const __grid_constant__ matmul_args args) {
    run_on_device<format::fp8_group, weights, p2>(args);
}

extern const void* const kernels[3];
const void* const kernels[3] = {
    reinterpret_cast<const void*>(&catena_mul_mat_tiles_fp8_e4m3_t256_r16_c64_p128_s3_async_sm_89),
    reinterpret_cast<const void*>(&catena_mul_mat_tiles_fp8_e4m3_t128_r16_c32_p128_s2_async_k4_sm_89),
    reinterpret_cast<const void*>(&catena_mul_mat_tiles_fp8_e4m3_t128_r16_c32_p128_s2_plain_sm_89),
};

}  // namespace catena::instances::sm_89_matmul_fp8_e4m3
