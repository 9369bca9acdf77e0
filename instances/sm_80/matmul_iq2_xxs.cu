// Generated from generators/catalogue.hpp and generators/policies.cpp: do not edit, regenerate. Hash 68093b277d1b277d.
// sm_80: matmul_iq2_xxs.
#include "catena/instances/device_instance.cuh"

namespace catena::instances::sm_80_matmul_iq2_xxs {

constexpr format_set weights = format_set::of(format::iq2_xxs);

constexpr policy p0 = {.threads = 256, .rows = 32, .columns = 64, .piece = 256, .stages = 3, .copy = copy_method::async};
extern "C" __global__ __launch_bounds__(p0.threads, p0.min_blocks) void
catena_mul_mat_tiles_iq2_xxs_t256_r32_c64_p256_s3_async_sm_80(const __grid_constant__ matmul_args args) {
    run_on_device<format::q8_1_mmq_d4, weights, p0>(args);
}

constexpr policy p1 = {.threads = 128, .min_blocks = 2, .rows = 16, .columns = 64, .piece = 256, .stages = 3, .copy = copy_method::async};
extern "C" __global__ __launch_bounds__(p1.threads, p1.min_blocks) void
catena_mul_mat_tiles_iq2_xxs_t128_m2_r16_c64_p256_s3_async_sm_80(const __grid_constant__ matmul_args args) {
    run_on_device<format::q8_1_mmq_d4, weights, p1>(args);
}

constexpr policy p2 = {.threads = 128, .min_blocks = 3, .rows = 16, .columns = 32, .piece = 256, .stages = 3, .copy = copy_method::async};
extern "C" __global__ __launch_bounds__(p2.threads, p2.min_blocks) void
catena_mul_mat_tiles_iq2_xxs_t128_m3_r16_c32_p256_s3_async_sm_80(const __grid_constant__ matmul_args args) {
    run_on_device<format::q8_1_mmq_d4, weights, p2>(args);
}

constexpr policy p3 = {.threads = 128, .rows = 16, .columns = 32, .piece = 256, .stages = 2, .slices = 4, .copy = copy_method::async};
extern "C" __global__ __launch_bounds__(p3.threads, p3.min_blocks) void
catena_mul_mat_tiles_iq2_xxs_t128_r16_c32_p256_s2_async_k4_sm_80(const __grid_constant__ matmul_args args) {
    run_on_device<format::q8_1_mmq_d4, weights, p3>(args);
}

constexpr policy p4 = {.threads = 128, .rows = 16, .columns = 32, .piece = 256, .stages = 2};
extern "C" __global__ __launch_bounds__(p4.threads, p4.min_blocks) void
catena_mul_mat_tiles_iq2_xxs_t128_r16_c32_p256_s2_plain_sm_80(const __grid_constant__ matmul_args args) {
    run_on_device<format::q8_1_mmq_d4, weights, p4>(args);
}

extern const void* const kernels[5];
const void* const kernels[5] = {
    reinterpret_cast<const void*>(&catena_mul_mat_tiles_iq2_xxs_t256_r32_c64_p256_s3_async_sm_80),
    reinterpret_cast<const void*>(&catena_mul_mat_tiles_iq2_xxs_t128_m2_r16_c64_p256_s3_async_sm_80),
    reinterpret_cast<const void*>(&catena_mul_mat_tiles_iq2_xxs_t128_m3_r16_c32_p256_s3_async_sm_80),
    reinterpret_cast<const void*>(&catena_mul_mat_tiles_iq2_xxs_t128_r16_c32_p256_s2_async_k4_sm_80),
    reinterpret_cast<const void*>(&catena_mul_mat_tiles_iq2_xxs_t128_r16_c32_p256_s2_plain_sm_80),
};

}  // namespace catena::instances::sm_80_matmul_iq2_xxs
