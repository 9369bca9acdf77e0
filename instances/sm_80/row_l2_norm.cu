// Generated from generators/catalogue.hpp and generators/policies.cpp: do not edit, regenerate. Hash ce37e86ecd4cabbf.
// sm_80: row_l2_norm.
#include "catena/instances/device_instance.cuh"

namespace catena::instances::sm_80_row_l2_norm {

constexpr computation c0 = {.kind = skeleton::row, .stages = stage_set::of(stage_kind::l2_norm), .emits = format_set::of(format::f32)};

constexpr policy p0 = {.threads = 128, .values = 8, .rows = 4, .vector = true};
extern "C" __global__ __launch_bounds__(p0.threads, p0.min_blocks) void
catena_l2_norm_f32_t128_r4_v8_vec_sm_80(const __grid_constant__ row_args args) {
    run_on_device<c0, p0>(args);
}

constexpr policy p1 = {.threads = 512, .values = 8, .vector = true};
extern "C" __global__ __launch_bounds__(p1.threads, p1.min_blocks) void
catena_l2_norm_f32_t512_v8_vec_sm_80(const __grid_constant__ row_args args) {
    run_on_device<c0, p1>(args);
}

constexpr policy p2 = {.threads = 1024, .values = 8, .vector = true};
extern "C" __global__ __launch_bounds__(p2.threads, p2.min_blocks) void
catena_l2_norm_f32_t1024_v8_vec_sm_80(const __grid_constant__ row_args args) {
    run_on_device<c0, p2>(args);
}

constexpr policy p3 = {.threads = 1024, .vector = true};
extern "C" __global__ __launch_bounds__(p3.threads, p3.min_blocks) void
catena_l2_norm_f32_t1024_v0_vec_sm_80(const __grid_constant__ row_args args) {
    run_on_device<c0, p3>(args);
}

constexpr policy p4 = {.threads = 256};
extern "C" __global__ __launch_bounds__(p4.threads, p4.min_blocks) void
catena_l2_norm_f32_t256_v0_sm_80(const __grid_constant__ row_args args) {
    run_on_device<c0, p4>(args);
}

extern const void* const kernels[5];
const void* const kernels[5] = {
    reinterpret_cast<const void*>(&catena_l2_norm_f32_t128_r4_v8_vec_sm_80),
    reinterpret_cast<const void*>(&catena_l2_norm_f32_t512_v8_vec_sm_80),
    reinterpret_cast<const void*>(&catena_l2_norm_f32_t1024_v8_vec_sm_80),
    reinterpret_cast<const void*>(&catena_l2_norm_f32_t1024_v0_vec_sm_80),
    reinterpret_cast<const void*>(&catena_l2_norm_f32_t256_v0_sm_80),
};

}  // namespace catena::instances::sm_80_row_l2_norm
