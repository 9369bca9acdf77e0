// Generated from generators/catalogue.hpp and generators/policies.cpp: do not edit, regenerate. Hash cf6c15531b435c37.
// sm_75: matmul_f16.
#include "catena/instances/device_instance.cuh"

namespace catena::instances::sm_75_matmul_f16 {

constexpr format_set weights = format_set::of(format::f16);

constexpr policy p0 = {.threads = 256, .rows = 16, .columns = 64, .piece = 32, .stages = 3};
extern "C" __global__ __launch_bounds__(p0.threads, p0.min_blocks) void
catena_mul_mat_tiles_f16_t256_r16_c64_p32_s3_plain_sm_75(const __grid_constant__ matmul_args args) {
    run_on_device<format::f32, weights, p0>(args);
}

constexpr policy p1 = {.threads = 128, .rows = 16, .columns = 32, .piece = 32, .stages = 2, .slices = 4};
extern "C" __global__ __launch_bounds__(p1.threads, p1.min_blocks) void
catena_mul_mat_tiles_f16_t128_r16_c32_p32_s2_plain_k4_sm_75(const __grid_constant__ matmul_args args) {
    run_on_device<format::f32, weights, p1>(args);
}

extern const void* const kernels[2];
const void* const kernels[2] = {
    reinterpret_cast<const void*>(&catena_mul_mat_tiles_f16_t256_r16_c64_p32_s3_plain_sm_75),
    reinterpret_cast<const void*>(&catena_mul_mat_tiles_f16_t128_r16_c32_p32_s2_plain_k4_sm_75),
};

}  // namespace catena::instances::sm_75_matmul_f16
