// Generated from generators/catalogue.hpp and generators/policies.cpp: do not edit, regenerate. Hash 49c92d5f33d5f7e7.
// sm_75: matmul_q4_1.
#include "catena/instances/device_instance.cuh"

namespace catena::instances::sm_75_matmul_q4_1 {

constexpr format_set weights = format_set::of(format::q4_1);

constexpr policy p0 = {.threads = 128, .rows = 16, .columns = 64, .piece = 128, .stages = 2};
extern "C" __global__ __launch_bounds__(p0.threads, p0.min_blocks) void
catena_mul_mat_tiles_q4_1_t128_r16_c64_p128_s2_plain_sm_75(const __grid_constant__ matmul_args args) {
    run_on_device<format::q8_1_mmq_ds4, weights, p0>(args);
}

constexpr policy p1 = {.threads = 128, .min_blocks = 2, .rows = 16, .columns = 32, .piece = 128, .stages = 2};
extern "C" __global__ __launch_bounds__(p1.threads, p1.min_blocks) void
catena_mul_mat_tiles_q4_1_t128_m2_r16_c32_p128_s2_plain_sm_75(const __grid_constant__ matmul_args args) {
    run_on_device<format::q8_1_mmq_ds4, weights, p1>(args);
}

constexpr policy p2 = {.threads = 128, .rows = 16, .columns = 32, .piece = 128, .stages = 2, .slices = 4};
extern "C" __global__ __launch_bounds__(p2.threads, p2.min_blocks) void
catena_mul_mat_tiles_q4_1_t128_r16_c32_p128_s2_plain_k4_sm_75(const __grid_constant__ matmul_args args) {
    run_on_device<format::q8_1_mmq_ds4, weights, p2>(args);
}

extern const void* const kernels[3];
const void* const kernels[3] = {
    reinterpret_cast<const void*>(&catena_mul_mat_tiles_q4_1_t128_r16_c64_p128_s2_plain_sm_75),
    reinterpret_cast<const void*>(&catena_mul_mat_tiles_q4_1_t128_m2_r16_c32_p128_s2_plain_sm_75),
    reinterpret_cast<const void*>(&catena_mul_mat_tiles_q4_1_t128_r16_c32_p128_s2_plain_k4_sm_75),
};

}  // namespace catena::instances::sm_75_matmul_q4_1
