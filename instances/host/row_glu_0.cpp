// Generated from generators/catalogue.hpp and generators/policies.cpp: do not edit, regenerate. Hash 281afa06422ab985.
// Host kernels: row_glu_0.
#include "catena/instances/host_instance.hpp"

namespace catena::instances::host_row_glu_0 {

constexpr computation c0 = {.kind = skeleton::row, .stages = stage_set::of(stage_kind::glu), .emits = format_set::of(format::f32) | format::f16 | format::bf16 | format::q8_1 | format::q8_1_mmq_d4 | format::q8_1_mmq_ds4 | format::q8_1_mmq_d2s6 | format::bf16_mma | format::f16_mma};
constexpr computation c1 = {.kind = skeleton::row, .stages = stage_set::of(stage_kind::glu), .emits = format_set::of(format::f32) | format::f16 | format::bf16 | format::int8_token | format::fp8_tensor | format::fp8_token | format::fp8_group | format::mxfp8_rows | format::mxfp4_rows | format::nvfp4_rows};

extern const host_instance kernels[8];
const host_instance kernels[8] = {
    host_instance_of<c0, policy{.threads = 128, .values = 8, .vector = true}>(),
    host_instance_of<c0, policy{.threads = 512, .values = 8, .vector = true}>(),
    host_instance_of<c0, policy{.threads = 1024, .vector = true}>(),
    host_instance_of<c0, policy{.threads = 256}>(),
    host_instance_of<c1, policy{.threads = 128, .values = 8, .vector = true}>(),
    host_instance_of<c1, policy{.threads = 512, .values = 8, .vector = true}>(),
    host_instance_of<c1, policy{.threads = 1024, .vector = true}>(),
    host_instance_of<c1, policy{.threads = 256}>(),
};

}  // namespace catena::instances::host_row_glu_0
