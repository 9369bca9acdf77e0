// Generated from generators/catalogue.hpp and generators/policies.cpp: do not edit, regenerate. Hash 67d4cedbf0b2c325.
// sm_75: matmul_q6_K.
#include "catena/instances/device_instance.cuh"

namespace catena::instances::sm_75_matmul_q6_K {

constexpr format_set weights = format_set::of(format::q6_K);

constexpr policy p0 = {.threads = 128, .rows = 16, .columns = 32, .piece = 256, .stages = 2};
extern "C" __global__ __launch_bounds__(p0.threads, p0.min_blocks) void
catena_mul_mat_tiles_q6_K_t128_r16_c32_p256_s2_plain_sm_75(const __grid_constant__ matmul_args args) {
    run_on_device<format::q8_1_mmq_d4, weights, p0>(args);
}

extern const void* const kernels[1];
const void* const kernels[1] = {
    reinterpret_cast<const void*>(&catena_mul_mat_tiles_q6_K_t128_r16_c32_p256_s2_plain_sm_75),
};

}  // namespace catena::instances::sm_75_matmul_q6_K
