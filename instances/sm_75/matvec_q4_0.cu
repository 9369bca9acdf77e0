// Generated from generators/catalogue.hpp and generators/policies.cpp: do not edit, regenerate. Hash a3ecdf8af7e9f05a.
// sm_75: matvec_q4_0.
#include "catena/instances/device_instance.cuh"

namespace catena::instances::sm_75_matvec_q4_0 {

constexpr format_set weights = format_set::of(format::q4_0);

constexpr policy p0 = {.threads = 128, .min_blocks = 4, .rows = 2, .columns = 1, .piece = 1024, .stages = 2, .activation = activation_source::shared};
extern "C" __global__ __launch_bounds__(p0.threads * p0.min_blocks, 1) void
catena_mul_mat_q4_0_t128_m4_r2_c1_p1024_s2_plain_shared_sm_75(const __grid_constant__ matvec_args args) {
    run_on_device<weights, p0>(args);
}

constexpr policy p1 = {.threads = 64, .min_blocks = 6, .rows = 16, .columns = 8, .piece = 512, .stages = 2, .activation = activation_source::shared, .product = inner_product::mma};
extern "C" __global__ __launch_bounds__(p1.threads * p1.min_blocks, 1) void
catena_mul_mat_q4_0_t64_m6_r16_c8_p512_s2_plain_shared_mma_sm_75(const __grid_constant__ matvec_args args) {
    run_on_device<weights, p1>(args);
}

constexpr policy p2 = {.threads = 64, .min_blocks = 6, .rows = 16, .columns = 8, .piece = 512, .stages = 2, .product = inner_product::mma};
extern "C" __global__ __launch_bounds__(p2.threads * p2.min_blocks, 1) void
catena_mul_mat_q4_0_t64_m6_r16_c8_p512_s2_plain_global_mma_sm_75(const __grid_constant__ matvec_args args) {
    run_on_device<weights, p2>(args);
}

extern const void* const kernels[3];
const void* const kernels[3] = {
    reinterpret_cast<const void*>(&catena_mul_mat_q4_0_t128_m4_r2_c1_p1024_s2_plain_shared_sm_75),
    reinterpret_cast<const void*>(&catena_mul_mat_q4_0_t64_m6_r16_c8_p512_s2_plain_shared_mma_sm_75),
    reinterpret_cast<const void*>(&catena_mul_mat_q4_0_t64_m6_r16_c8_p512_s2_plain_global_mma_sm_75),
};

}  // namespace catena::instances::sm_75_matvec_q4_0
