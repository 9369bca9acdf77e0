// Generated from generators/catalogue.hpp and generators/policies.cpp: do not edit, regenerate. Hash 4eee1bf63695d69b.
// sm_90: matvec_fp8_e4m3.
#include "catena/instances/device_instance.cuh"

namespace catena::instances::sm_90_matvec_fp8_e4m3 {

constexpr format_set weights = format_set::of(format::fp8_e4m3);

constexpr policy p0 = {.threads = 128, .min_blocks = 4, .rows = 2, .columns = 1, .piece = 1024, .stages = 4, .copy = copy_method::bulk, .product = inner_product::fma};
extern "C" __global__ __launch_bounds__(p0.threads * p0.min_blocks, 1) void
catena_mul_mat_fp8_e4m3_t128_m4_r2_c1_p1024_s4_bulk_global_fma_sm_90(const __grid_constant__ matvec_args args) {
    run_on_device<weights, p0>(args);
}

constexpr policy p1 = {.threads = 128, .min_blocks = 3, .rows = 2, .columns = 8, .piece = 1024, .stages = 4, .copy = copy_method::bulk, .product = inner_product::fma};
extern "C" __global__ __launch_bounds__(p1.threads * p1.min_blocks, 1) void
catena_mul_mat_fp8_e4m3_t128_m3_r2_c8_p1024_s4_bulk_global_fma_sm_90(const __grid_constant__ matvec_args args) {
    run_on_device<weights, p1>(args);
}

constexpr policy p2 = {.threads = 64, .min_blocks = 4, .rows = 2, .columns = 8, .piece = 1024, .stages = 2, .product = inner_product::fma};
extern "C" __global__ __launch_bounds__(p2.threads * p2.min_blocks, 1) void
catena_mul_mat_fp8_e4m3_t64_m4_r2_c8_p1024_s2_plain_global_fma_sm_90(const __grid_constant__ matvec_args args) {
    run_on_device<weights, p2>(args);
}

extern const void* const kernels[3];
const void* const kernels[3] = {
    reinterpret_cast<const void*>(&catena_mul_mat_fp8_e4m3_t128_m4_r2_c1_p1024_s4_bulk_global_fma_sm_90),
    reinterpret_cast<const void*>(&catena_mul_mat_fp8_e4m3_t128_m3_r2_c8_p1024_s4_bulk_global_fma_sm_90),
    reinterpret_cast<const void*>(&catena_mul_mat_fp8_e4m3_t64_m4_r2_c8_p1024_s2_plain_global_fma_sm_90),
};

}  // namespace catena::instances::sm_90_matvec_fp8_e4m3
