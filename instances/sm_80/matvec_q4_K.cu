// Generated from generators/catalogue.hpp and generators/policies.cpp: do not edit, regenerate. Hash 1b72f04a709a3130.
// sm_80: matvec_q4_K.
#include "catena/instances/device_instance.cuh"

namespace catena::instances::sm_80_matvec_q4_K {

constexpr format_set weights = format_set::of(format::q4_K);

constexpr policy p0 = {.threads = 128, .min_blocks = 4, .rows = 1, .columns = 1, .piece = 2048, .stages = 4, .copy = copy_method::async, .activation = activation_source::shared};
extern "C" __global__ __launch_bounds__(p0.threads, p0.min_blocks) void
catena_mul_mat_q4_K_t128_m4_r1_c1_p2048_s4_async_shared_sm_80(const __grid_constant__ matvec_args args) {
    run_on_device<weights, p0>(args);
}

constexpr policy p1 = {.threads = 128, .min_blocks = 4, .rows = 2, .columns = 1, .piece = 1024, .stages = 4, .copy = copy_method::async, .activation = activation_source::shared};
extern "C" __global__ __launch_bounds__(p1.threads, p1.min_blocks) void
catena_mul_mat_q4_K_t128_m4_r2_c1_p1024_s4_async_shared_sm_80(const __grid_constant__ matvec_args args) {
    run_on_device<weights, p1>(args);
}

constexpr policy p2 = {.threads = 128, .min_blocks = 4, .rows = 4, .columns = 1, .piece = 1024, .stages = 4, .copy = copy_method::async, .activation = activation_source::shared};
extern "C" __global__ __launch_bounds__(p2.threads, p2.min_blocks) void
catena_mul_mat_q4_K_t128_m4_r4_c1_p1024_s4_async_shared_sm_80(const __grid_constant__ matvec_args args) {
    run_on_device<weights, p2>(args);
}

constexpr policy p3 = {.threads = 128, .min_blocks = 4, .rows = 2, .columns = 2, .piece = 1024, .stages = 4, .copy = copy_method::async, .activation = activation_source::shared};
extern "C" __global__ __launch_bounds__(p3.threads, p3.min_blocks) void
catena_mul_mat_q4_K_t128_m4_r2_c2_p1024_s4_async_shared_sm_80(const __grid_constant__ matvec_args args) {
    run_on_device<weights, p3>(args);
}

constexpr policy p4 = {.threads = 128, .min_blocks = 3, .rows = 2, .columns = 4, .piece = 1024, .stages = 4, .copy = copy_method::async, .activation = activation_source::shared};
extern "C" __global__ __launch_bounds__(p4.threads, p4.min_blocks) void
catena_mul_mat_q4_K_t128_m3_r2_c4_p1024_s4_async_shared_sm_80(const __grid_constant__ matvec_args args) {
    run_on_device<weights, p4>(args);
}

constexpr policy p5 = {.threads = 128, .min_blocks = 2, .rows = 2, .columns = 8, .piece = 1024, .stages = 4, .copy = copy_method::async, .activation = activation_source::shared};
extern "C" __global__ __launch_bounds__(p5.threads, p5.min_blocks) void
catena_mul_mat_q4_K_t128_m2_r2_c8_p1024_s4_async_shared_sm_80(const __grid_constant__ matvec_args args) {
    run_on_device<weights, p5>(args);
}

constexpr policy p6 = {.threads = 128, .min_blocks = 2, .rows = 2, .columns = 8, .piece = 1024, .stages = 4, .copy = copy_method::async};
extern "C" __global__ __launch_bounds__(p6.threads, p6.min_blocks) void
catena_mul_mat_q4_K_t128_m2_r2_c8_p1024_s4_async_global_sm_80(const __grid_constant__ matvec_args args) {
    run_on_device<weights, p6>(args);
}

constexpr policy p7 = {.threads = 128, .min_blocks = 2, .rows = 2, .columns = 8, .piece = 1024, .stages = 2};
extern "C" __global__ __launch_bounds__(p7.threads, p7.min_blocks) void
catena_mul_mat_q4_K_t128_m2_r2_c8_p1024_s2_plain_global_sm_80(const __grid_constant__ matvec_args args) {
    run_on_device<weights, p7>(args);
}

extern const void* const kernels[8];
const void* const kernels[8] = {
    reinterpret_cast<const void*>(&catena_mul_mat_q4_K_t128_m4_r1_c1_p2048_s4_async_shared_sm_80),
    reinterpret_cast<const void*>(&catena_mul_mat_q4_K_t128_m4_r2_c1_p1024_s4_async_shared_sm_80),
    reinterpret_cast<const void*>(&catena_mul_mat_q4_K_t128_m4_r4_c1_p1024_s4_async_shared_sm_80),
    reinterpret_cast<const void*>(&catena_mul_mat_q4_K_t128_m4_r2_c2_p1024_s4_async_shared_sm_80),
    reinterpret_cast<const void*>(&catena_mul_mat_q4_K_t128_m3_r2_c4_p1024_s4_async_shared_sm_80),
    reinterpret_cast<const void*>(&catena_mul_mat_q4_K_t128_m2_r2_c8_p1024_s4_async_shared_sm_80),
    reinterpret_cast<const void*>(&catena_mul_mat_q4_K_t128_m2_r2_c8_p1024_s4_async_global_sm_80),
    reinterpret_cast<const void*>(&catena_mul_mat_q4_K_t128_m2_r2_c8_p1024_s2_plain_global_sm_80),
};

}  // namespace catena::instances::sm_80_matvec_q4_K
