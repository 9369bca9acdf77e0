// Generated from generators/catalogue.hpp and generators/policies.cpp: do not edit, regenerate. Hash 5994ba94a8fc7a38.
// sm_90: matmul_iq2_xxs.
#include "catena/instances/device_instance.cuh"

namespace catena::instances::sm_90_matmul_iq2_xxs {

constexpr format_set weights = format_set::of(format::iq2_xxs);

constexpr policy p0 = {.threads = 256, .rows = 32, .columns = 64, .piece = 256, .stages = 4, .copy = copy_method::bulk};
extern "C" __global__ __launch_bounds__(p0.threads, p0.min_blocks) void
catena_mul_mat_tiles_iq2_xxs_t256_r32_c64_p256_s4_bulk_sm_90(const __grid_constant__ matmul_args args) {
    run_on_device<format::q8_1_mmq_d4, weights, p0>(args);
}

constexpr policy p1 = {.threads = 128, .min_blocks = 2, .rows = 16, .columns = 64, .piece = 256, .stages = 4, .copy = copy_method::bulk};
extern "C" __global__ __launch_bounds__(p1.threads, p1.min_blocks) void
catena_mul_mat_tiles_iq2_xxs_t128_m2_r16_c64_p256_s4_bulk_sm_90(const __grid_constant__ matmul_args args) {
    run_on_device<format::q8_1_mmq_d4, weights, p1>(args);
}

constexpr policy p2 = {.threads = 128, .min_blocks = 3, .rows = 16, .columns = 32, .piece = 256, .stages = 4, .copy = copy_method::bulk};
extern "C" __global__ __launch_bounds__(p2.threads, p2.min_blocks) void
catena_mul_mat_tiles_iq2_xxs_t128_m3_r16_c32_p256_s4_bulk_sm_90(const __grid_constant__ matmul_args args) {
    run_on_device<format::q8_1_mmq_d4, weights, p2>(args);
}

constexpr policy p3 = {.threads = 128, .min_blocks = 2, .rows = 16, .columns = 32, .piece = 256, .stages = 2, .slices = 4, .copy = copy_method::bulk};
extern "C" __global__ __launch_bounds__(p3.threads, p3.min_blocks) void
catena_mul_mat_tiles_iq2_xxs_t128_m2_r16_c32_p256_s2_bulk_k4_sm_90(const __grid_constant__ matmul_args args) {
    run_on_device<format::q8_1_mmq_d4, weights, p3>(args);
}

constexpr policy p4 = {.threads = 128, .rows = 16, .columns = 32, .piece = 256, .stages = 2};
extern "C" __global__ __launch_bounds__(p4.threads, p4.min_blocks) void
catena_mul_mat_tiles_iq2_xxs_t128_r16_c32_p256_s2_plain_sm_90(const __grid_constant__ matmul_args args) {
    run_on_device<format::q8_1_mmq_d4, weights, p4>(args);
}

constexpr policy p5 = {.threads = 256, .rows = 32, .columns = 128, .piece = 256, .stages = 4, .copy = copy_method::bulk, .product = inner_product::wgmma};
extern "C" __global__ __launch_bounds__(p5.threads, p5.min_blocks) void
catena_mul_mat_tiles_iq2_xxs_t256_r32_c128_p256_s4_bulk_wgmma_sm_90(const __grid_constant__ matmul_args args) {
    run_on_device<format::bf16_mma, weights, p5>(args);
}

constexpr policy p6 = {.threads = 256, .rows = 16, .columns = 128, .piece = 256, .stages = 4, .cluster = 4, .copy = copy_method::bulk, .product = inner_product::wgmma};
extern "C" __global__ __launch_bounds__(p6.threads, p6.min_blocks) void
catena_mul_mat_tiles_iq2_xxs_t256_r16_c128_p256_s4_bulk_cluster4_wgmma_sm_90(const __grid_constant__ matmul_args args) {
    run_on_device<format::bf16_mma, weights, p6>(args);
}

extern const void* const kernels[7];
const void* const kernels[7] = {
    reinterpret_cast<const void*>(&catena_mul_mat_tiles_iq2_xxs_t256_r32_c64_p256_s4_bulk_sm_90),
    reinterpret_cast<const void*>(&catena_mul_mat_tiles_iq2_xxs_t128_m2_r16_c64_p256_s4_bulk_sm_90),
    reinterpret_cast<const void*>(&catena_mul_mat_tiles_iq2_xxs_t128_m3_r16_c32_p256_s4_bulk_sm_90),
    reinterpret_cast<const void*>(&catena_mul_mat_tiles_iq2_xxs_t128_m2_r16_c32_p256_s2_bulk_k4_sm_90),
    reinterpret_cast<const void*>(&catena_mul_mat_tiles_iq2_xxs_t128_r16_c32_p256_s2_plain_sm_90),
    reinterpret_cast<const void*>(&catena_mul_mat_tiles_iq2_xxs_t256_r32_c128_p256_s4_bulk_wgmma_sm_90),
    reinterpret_cast<const void*>(&catena_mul_mat_tiles_iq2_xxs_t256_r16_c128_p256_s4_bulk_cluster4_wgmma_sm_90),
};

}  // namespace catena::instances::sm_90_matmul_iq2_xxs
