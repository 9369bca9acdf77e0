// Generated from generators/catalogue.hpp and generators/policies.cpp: do not edit, regenerate. Hash 475c3fc0fb73698e.
// What the rows of every instance set compute, by the names that the rows use.
#pragma once

#include "catena/instances/rows.hpp"

namespace CATENA_NAMESPACE::instances::computations {

inline constexpr row_computation combine_scale_add_rms_norm_mul_ggml =
    {.stages = stage_set::of(stage_kind::combine) | stage_kind::scale | stage_kind::add_residual | stage_kind::rms_norm | stage_kind::mul_weight, .emits = formats("ggml")};
inline constexpr row_computation convolve_rms_norm_f32 =
    {.stages = stage_set::of(stage_kind::convolve) | stage_kind::rms_norm, .emits = formats("f32")};
inline constexpr row_computation glu_ggml =
    {.stages = stage_set::of(stage_kind::glu), .emits = formats("ggml")};
inline constexpr row_computation glu_engines =
    {.stages = stage_set::of(stage_kind::glu), .emits = formats("engines")};
inline constexpr row_computation l2_norm_f32 =
    {.stages = stage_set::of(stage_kind::l2_norm), .emits = formats("f32")};
inline constexpr row_computation quantize_ggml_activations =
    {.emits = formats("ggml_activations")};
inline constexpr row_computation quantize_engines =
    {.emits = formats("engines")};
inline constexpr row_computation rms_norm_mul_add_rms_norm_mul_ggml =
    {.stages = stage_set::of(stage_kind::rms_norm) | stage_kind::mul_weight | stage_kind::join_residual | stage_kind::next_norm | stage_kind::mul_next_weight, .emits = formats("ggml")};
inline constexpr row_computation rms_norm_mul_gate_ggml =
    {.stages = stage_set::of(stage_kind::rms_norm) | stage_kind::mul_weight | stage_kind::gate, .emits = formats("ggml")};
inline constexpr row_computation rms_norm_mul_rope_store_caches =
    {.stages = stage_set::of(stage_kind::rms_norm) | stage_kind::mul_weight | stage_kind::rope | stage_kind::store, .emits = formats("caches")};
inline constexpr row_computation scale_add_layer_norm_mul_bias_ggml =
    {.stages = stage_set::of(stage_kind::scale) | stage_kind::add_residual | stage_kind::layer_norm | stage_kind::mul_weight | stage_kind::add_bias, .emits = formats("ggml")};
inline constexpr row_computation scale_add_layer_norm_mul_bias_engines =
    {.stages = stage_set::of(stage_kind::scale) | stage_kind::add_residual | stage_kind::layer_norm | stage_kind::mul_weight | stage_kind::add_bias, .emits = formats("engines")};
inline constexpr row_computation scale_add_rms_norm_mul_bias_engines =
    {.stages = stage_set::of(stage_kind::scale) | stage_kind::add_residual | stage_kind::rms_norm | stage_kind::mul_weight | stage_kind::add_bias, .emits = formats("engines")};
inline constexpr row_computation score_choose_weigh_f32 =
    {.stages = stage_set::of(stage_kind::score) | stage_kind::choose | stage_kind::weigh, .emits = formats("f32")};
inline constexpr product_computation matvec_f32 =
    {.kind = skeleton::matvec, .activation = format::f32, .weights = formats("f32"), .epilogue = full_epilogue};
inline constexpr product_computation matvec_f32_norm =
    {.kind = skeleton::matvec, .stages = stage_set::of(stage_kind::rms_norm) | stage_kind::mul_weight, .emits = formats("f32_q8_1"), .activation = format::f32, .weights = formats("f32"), .epilogue = full_epilogue};
inline constexpr product_computation matmul_f32_f32 =
    {.kind = skeleton::matmul, .activation = format::f32, .weights = formats("f32"), .epilogue = tile_epilogue};
inline constexpr product_computation matvec_f16 =
    {.kind = skeleton::matvec, .activation = format::f32, .weights = formats("f16"), .epilogue = full_epilogue};
inline constexpr product_computation matmul_f16_f32 =
    {.kind = skeleton::matmul, .activation = format::f32, .weights = formats("f16"), .epilogue = tile_epilogue};
inline constexpr product_computation matmul_f16_f16_mma =
    {.kind = skeleton::matmul, .activation = format::f16_mma, .weights = formats("f16"), .epilogue = tile_epilogue};
inline constexpr product_computation matvec_bf16 =
    {.kind = skeleton::matvec, .activation = format::f32, .weights = formats("bf16"), .epilogue = full_epilogue};
inline constexpr product_computation matmul_bf16_f32 =
    {.kind = skeleton::matmul, .activation = format::f32, .weights = formats("bf16"), .epilogue = tile_epilogue};
inline constexpr product_computation matmul_bf16_bf16_mma =
    {.kind = skeleton::matmul, .activation = format::bf16_mma, .weights = formats("bf16"), .epilogue = tile_epilogue};
inline constexpr product_computation matvec_q8_0 =
    {.kind = skeleton::matvec, .activation = format::q8_1, .weights = formats("q8_0"), .epilogue = full_epilogue};
inline constexpr product_computation matvec_q8_0_norm =
    {.kind = skeleton::matvec, .stages = stage_set::of(stage_kind::rms_norm) | stage_kind::mul_weight, .activation = format::q8_1, .weights = formats("q8_0"), .epilogue = full_epilogue};
inline constexpr product_computation matmul_q8_0_q8_1_mmq_d4 =
    {.kind = skeleton::matmul, .activation = format::q8_1_mmq_d4, .weights = formats("q8_0"), .epilogue = tile_epilogue};
inline constexpr product_computation matmul_q8_0_bf16_mma =
    {.kind = skeleton::matmul, .activation = format::bf16_mma, .weights = formats("q8_0"), .epilogue = tile_epilogue};
inline constexpr product_computation matvec_q4_0 =
    {.kind = skeleton::matvec, .activation = format::q8_1, .weights = formats("q4_0"), .epilogue = full_epilogue};
inline constexpr product_computation matmul_q4_0_q8_1_mmq_ds4 =
    {.kind = skeleton::matmul, .activation = format::q8_1_mmq_ds4, .weights = formats("q4_0"), .epilogue = tile_epilogue};
inline constexpr product_computation matmul_q4_0_bf16_mma =
    {.kind = skeleton::matmul, .activation = format::bf16_mma, .weights = formats("q4_0"), .epilogue = tile_epilogue};
inline constexpr product_computation matvec_q4_K =
    {.kind = skeleton::matvec, .activation = format::q8_1, .weights = formats("q4_K"), .epilogue = full_epilogue};
inline constexpr product_computation matvec_q4_K_norm =
    {.kind = skeleton::matvec, .stages = stage_set::of(stage_kind::rms_norm) | stage_kind::mul_weight, .activation = format::q8_1, .weights = formats("q4_K"), .epilogue = full_epilogue};
inline constexpr product_computation matvec_q4_K_routed =
    {.kind = skeleton::matvec, .stages = stage_set::of(stage_kind::score) | stage_kind::choose | stage_kind::weigh, .activation = format::q8_1, .weights = formats("q4_K"), .epilogue = tile_epilogue};
inline constexpr product_computation matmul_q4_K_q8_1_mmq_ds4 =
    {.kind = skeleton::matmul, .activation = format::q8_1_mmq_ds4, .weights = formats("q4_K"), .epilogue = tile_epilogue};
inline constexpr product_computation matmul_q4_K_bf16_mma =
    {.kind = skeleton::matmul, .activation = format::bf16_mma, .weights = formats("q4_K"), .epilogue = tile_epilogue};
inline constexpr product_computation matvec_q6_K =
    {.kind = skeleton::matvec, .activation = format::q8_1, .weights = formats("q6_K"), .epilogue = full_epilogue};
inline constexpr product_computation matmul_q6_K_q8_1_mmq_d4 =
    {.kind = skeleton::matmul, .activation = format::q8_1_mmq_d4, .weights = formats("q6_K"), .epilogue = tile_epilogue};
inline constexpr product_computation matmul_q6_K_bf16_mma =
    {.kind = skeleton::matmul, .activation = format::bf16_mma, .weights = formats("q6_K"), .epilogue = tile_epilogue};
inline constexpr product_computation matvec_q1_0 =
    {.kind = skeleton::matvec, .activation = format::q8_1, .weights = formats("q1_0"), .epilogue = full_epilogue};
inline constexpr product_computation matmul_q1_0_q8_1_mmq_d4 =
    {.kind = skeleton::matmul, .activation = format::q8_1_mmq_d4, .weights = formats("q1_0"), .epilogue = tile_epilogue};
inline constexpr product_computation matmul_q1_0_bf16_mma =
    {.kind = skeleton::matmul, .activation = format::bf16_mma, .weights = formats("q1_0"), .epilogue = tile_epilogue};
inline constexpr product_computation matvec_q2_0 =
    {.kind = skeleton::matvec, .activation = format::q8_1, .weights = formats("q2_0"), .epilogue = full_epilogue};
inline constexpr product_computation matmul_q2_0_q8_1_mmq_d4 =
    {.kind = skeleton::matmul, .activation = format::q8_1_mmq_d4, .weights = formats("q2_0"), .epilogue = tile_epilogue};
inline constexpr product_computation matmul_q2_0_bf16_mma =
    {.kind = skeleton::matmul, .activation = format::bf16_mma, .weights = formats("q2_0"), .epilogue = tile_epilogue};
inline constexpr product_computation matvec_q4_1 =
    {.kind = skeleton::matvec, .activation = format::q8_1, .weights = formats("q4_1"), .epilogue = full_epilogue};
inline constexpr product_computation matmul_q4_1_q8_1_mmq_ds4 =
    {.kind = skeleton::matmul, .activation = format::q8_1_mmq_ds4, .weights = formats("q4_1"), .epilogue = tile_epilogue};
inline constexpr product_computation matmul_q4_1_bf16_mma =
    {.kind = skeleton::matmul, .activation = format::bf16_mma, .weights = formats("q4_1"), .epilogue = tile_epilogue};
inline constexpr product_computation matvec_q5_0 =
    {.kind = skeleton::matvec, .activation = format::q8_1, .weights = formats("q5_0"), .epilogue = full_epilogue};
inline constexpr product_computation matmul_q5_0_q8_1_mmq_d4 =
    {.kind = skeleton::matmul, .activation = format::q8_1_mmq_d4, .weights = formats("q5_0"), .epilogue = tile_epilogue};
inline constexpr product_computation matmul_q5_0_bf16_mma =
    {.kind = skeleton::matmul, .activation = format::bf16_mma, .weights = formats("q5_0"), .epilogue = tile_epilogue};
inline constexpr product_computation matvec_q5_1 =
    {.kind = skeleton::matvec, .activation = format::q8_1, .weights = formats("q5_1"), .epilogue = full_epilogue};
inline constexpr product_computation matmul_q5_1_q8_1_mmq_ds4 =
    {.kind = skeleton::matmul, .activation = format::q8_1_mmq_ds4, .weights = formats("q5_1"), .epilogue = tile_epilogue};
inline constexpr product_computation matmul_q5_1_bf16_mma =
    {.kind = skeleton::matmul, .activation = format::bf16_mma, .weights = formats("q5_1"), .epilogue = tile_epilogue};
inline constexpr product_computation matvec_mxfp4 =
    {.kind = skeleton::matvec, .activation = format::q8_1, .weights = formats("mxfp4"), .epilogue = full_epilogue};
inline constexpr product_computation matvec_mxfp4_routed =
    {.kind = skeleton::matvec, .stages = stage_set::of(stage_kind::score) | stage_kind::choose | stage_kind::weigh, .activation = format::q8_1, .weights = formats("mxfp4"), .epilogue = tile_epilogue};
inline constexpr product_computation matmul_mxfp4_q8_1_mmq_d4 =
    {.kind = skeleton::matmul, .activation = format::q8_1_mmq_d4, .weights = formats("mxfp4"), .epilogue = tile_epilogue};
inline constexpr product_computation matmul_mxfp4_bf16_mma =
    {.kind = skeleton::matmul, .activation = format::bf16_mma, .weights = formats("mxfp4"), .epilogue = tile_epilogue};
inline constexpr product_computation matvec_nvfp4 =
    {.kind = skeleton::matvec, .activation = format::q8_1, .weights = formats("nvfp4"), .epilogue = full_epilogue};
inline constexpr product_computation matmul_nvfp4_q8_1_mmq_d4 =
    {.kind = skeleton::matmul, .activation = format::q8_1_mmq_d4, .weights = formats("nvfp4"), .epilogue = tile_epilogue};
inline constexpr product_computation matmul_nvfp4_bf16_mma =
    {.kind = skeleton::matmul, .activation = format::bf16_mma, .weights = formats("nvfp4"), .epilogue = tile_epilogue};
inline constexpr product_computation matvec_iq4_nl =
    {.kind = skeleton::matvec, .activation = format::q8_1, .weights = formats("iq4_nl"), .epilogue = full_epilogue};
inline constexpr product_computation matmul_iq4_nl_q8_1_mmq_d4 =
    {.kind = skeleton::matmul, .activation = format::q8_1_mmq_d4, .weights = formats("iq4_nl"), .epilogue = tile_epilogue};
inline constexpr product_computation matmul_iq4_nl_bf16_mma =
    {.kind = skeleton::matmul, .activation = format::bf16_mma, .weights = formats("iq4_nl"), .epilogue = tile_epilogue};
inline constexpr product_computation matvec_q2_K =
    {.kind = skeleton::matvec, .activation = format::q8_1, .weights = formats("q2_K"), .epilogue = full_epilogue};
inline constexpr product_computation matmul_q2_K_q8_1_mmq_d4 =
    {.kind = skeleton::matmul, .activation = format::q8_1_mmq_d4, .weights = formats("q2_K"), .epilogue = tile_epilogue};
inline constexpr product_computation matmul_q2_K_bf16_mma =
    {.kind = skeleton::matmul, .activation = format::bf16_mma, .weights = formats("q2_K"), .epilogue = tile_epilogue};
inline constexpr product_computation matvec_q3_K =
    {.kind = skeleton::matvec, .activation = format::q8_1, .weights = formats("q3_K"), .epilogue = full_epilogue};
inline constexpr product_computation matmul_q3_K_q8_1_mmq_d4 =
    {.kind = skeleton::matmul, .activation = format::q8_1_mmq_d4, .weights = formats("q3_K"), .epilogue = tile_epilogue};
inline constexpr product_computation matmul_q3_K_bf16_mma =
    {.kind = skeleton::matmul, .activation = format::bf16_mma, .weights = formats("q3_K"), .epilogue = tile_epilogue};
inline constexpr product_computation matvec_q5_K =
    {.kind = skeleton::matvec, .activation = format::q8_1, .weights = formats("q5_K"), .epilogue = full_epilogue};
inline constexpr product_computation matmul_q5_K_q8_1_mmq_ds4 =
    {.kind = skeleton::matmul, .activation = format::q8_1_mmq_ds4, .weights = formats("q5_K"), .epilogue = tile_epilogue};
inline constexpr product_computation matmul_q5_K_bf16_mma =
    {.kind = skeleton::matmul, .activation = format::bf16_mma, .weights = formats("q5_K"), .epilogue = tile_epilogue};
inline constexpr product_computation matvec_iq4_xs =
    {.kind = skeleton::matvec, .activation = format::q8_1, .weights = formats("iq4_xs"), .epilogue = full_epilogue};
inline constexpr product_computation matmul_iq4_xs_q8_1_mmq_d4 =
    {.kind = skeleton::matmul, .activation = format::q8_1_mmq_d4, .weights = formats("iq4_xs"), .epilogue = tile_epilogue};
inline constexpr product_computation matmul_iq4_xs_bf16_mma =
    {.kind = skeleton::matmul, .activation = format::bf16_mma, .weights = formats("iq4_xs"), .epilogue = tile_epilogue};
inline constexpr product_computation matvec_iq2_xxs =
    {.kind = skeleton::matvec, .activation = format::q8_1, .weights = formats("iq2_xxs"), .epilogue = full_epilogue};
inline constexpr product_computation matmul_iq2_xxs_q8_1_mmq_d4 =
    {.kind = skeleton::matmul, .activation = format::q8_1_mmq_d4, .weights = formats("iq2_xxs"), .epilogue = tile_epilogue};
inline constexpr product_computation matmul_iq2_xxs_bf16_mma =
    {.kind = skeleton::matmul, .activation = format::bf16_mma, .weights = formats("iq2_xxs"), .epilogue = tile_epilogue};
inline constexpr product_computation matvec_iq2_xs =
    {.kind = skeleton::matvec, .activation = format::q8_1, .weights = formats("iq2_xs"), .epilogue = full_epilogue};
inline constexpr product_computation matmul_iq2_xs_q8_1_mmq_d4 =
    {.kind = skeleton::matmul, .activation = format::q8_1_mmq_d4, .weights = formats("iq2_xs"), .epilogue = tile_epilogue};
inline constexpr product_computation matmul_iq2_xs_bf16_mma =
    {.kind = skeleton::matmul, .activation = format::bf16_mma, .weights = formats("iq2_xs"), .epilogue = tile_epilogue};
inline constexpr product_computation matvec_iq2_s =
    {.kind = skeleton::matvec, .activation = format::q8_1, .weights = formats("iq2_s"), .epilogue = full_epilogue};
inline constexpr product_computation matmul_iq2_s_q8_1_mmq_d4 =
    {.kind = skeleton::matmul, .activation = format::q8_1_mmq_d4, .weights = formats("iq2_s"), .epilogue = tile_epilogue};
inline constexpr product_computation matmul_iq2_s_bf16_mma =
    {.kind = skeleton::matmul, .activation = format::bf16_mma, .weights = formats("iq2_s"), .epilogue = tile_epilogue};
inline constexpr product_computation matvec_iq3_xxs =
    {.kind = skeleton::matvec, .activation = format::q8_1, .weights = formats("iq3_xxs"), .epilogue = full_epilogue};
inline constexpr product_computation matmul_iq3_xxs_q8_1_mmq_d4 =
    {.kind = skeleton::matmul, .activation = format::q8_1_mmq_d4, .weights = formats("iq3_xxs"), .epilogue = tile_epilogue};
inline constexpr product_computation matmul_iq3_xxs_bf16_mma =
    {.kind = skeleton::matmul, .activation = format::bf16_mma, .weights = formats("iq3_xxs"), .epilogue = tile_epilogue};
inline constexpr product_computation matvec_iq3_s =
    {.kind = skeleton::matvec, .activation = format::q8_1, .weights = formats("iq3_s"), .epilogue = full_epilogue};
inline constexpr product_computation matmul_iq3_s_q8_1_mmq_d4 =
    {.kind = skeleton::matmul, .activation = format::q8_1_mmq_d4, .weights = formats("iq3_s"), .epilogue = tile_epilogue};
inline constexpr product_computation matmul_iq3_s_bf16_mma =
    {.kind = skeleton::matmul, .activation = format::bf16_mma, .weights = formats("iq3_s"), .epilogue = tile_epilogue};
inline constexpr product_computation matvec_iq1_s =
    {.kind = skeleton::matvec, .activation = format::q8_1, .weights = formats("iq1_s"), .epilogue = full_epilogue};
inline constexpr product_computation matmul_iq1_s_q8_1_mmq_ds4 =
    {.kind = skeleton::matmul, .activation = format::q8_1_mmq_ds4, .weights = formats("iq1_s"), .epilogue = tile_epilogue};
inline constexpr product_computation matmul_iq1_s_bf16_mma =
    {.kind = skeleton::matmul, .activation = format::bf16_mma, .weights = formats("iq1_s"), .epilogue = tile_epilogue};
inline constexpr product_computation matvec_iq1_m =
    {.kind = skeleton::matvec, .activation = format::q8_1, .weights = formats("iq1_m"), .epilogue = full_epilogue};
inline constexpr product_computation matmul_iq1_m_q8_1_mmq_d4 =
    {.kind = skeleton::matmul, .activation = format::q8_1_mmq_d4, .weights = formats("iq1_m"), .epilogue = tile_epilogue};
inline constexpr product_computation matmul_iq1_m_bf16_mma =
    {.kind = skeleton::matmul, .activation = format::bf16_mma, .weights = formats("iq1_m"), .epilogue = tile_epilogue};
inline constexpr product_computation matvec_tq1_0 =
    {.kind = skeleton::matvec, .activation = format::q8_1, .weights = formats("tq1_0"), .epilogue = full_epilogue};
inline constexpr product_computation matmul_tq1_0_q8_1_mmq_d4 =
    {.kind = skeleton::matmul, .activation = format::q8_1_mmq_d4, .weights = formats("tq1_0"), .epilogue = tile_epilogue};
inline constexpr product_computation matmul_tq1_0_bf16_mma =
    {.kind = skeleton::matmul, .activation = format::bf16_mma, .weights = formats("tq1_0"), .epilogue = tile_epilogue};
inline constexpr product_computation matvec_tq2_0 =
    {.kind = skeleton::matvec, .activation = format::q8_1, .weights = formats("tq2_0"), .epilogue = full_epilogue};
inline constexpr product_computation matmul_tq2_0_q8_1_mmq_d4 =
    {.kind = skeleton::matmul, .activation = format::q8_1_mmq_d4, .weights = formats("tq2_0"), .epilogue = tile_epilogue};
inline constexpr product_computation matmul_tq2_0_bf16_mma =
    {.kind = skeleton::matmul, .activation = format::bf16_mma, .weights = formats("tq2_0"), .epilogue = tile_epilogue};
inline constexpr product_computation matvec_fp8_e4m3 =
    {.kind = skeleton::matvec, .activation = format::f32, .weights = formats("fp8_e4m3"), .epilogue = full_epilogue};
inline constexpr product_computation matmul_fp8_e4m3_fp8_group =
    {.kind = skeleton::matmul, .activation = format::fp8_group, .weights = formats("fp8_e4m3"), .epilogue = tile_epilogue};
inline constexpr product_computation matvec_q4_K_q6_K =
    {.kind = skeleton::matvec, .activation = format::q8_1, .weights = formats("q4_K_q6_K"), .epilogue = full_epilogue};
inline constexpr product_computation matvec_q4_K_q6_K_norm =
    {.kind = skeleton::matvec, .stages = stage_set::of(stage_kind::rms_norm) | stage_kind::mul_weight, .activation = format::q8_1, .weights = formats("q4_K_q6_K"), .epilogue = full_epilogue};
inline constexpr product_computation matvec_q4_K_q5_K =
    {.kind = skeleton::matvec, .activation = format::q8_1, .weights = formats("q4_K_q5_K"), .epilogue = full_epilogue};
inline constexpr product_computation matvec_q6_K_q5_K =
    {.kind = skeleton::matvec, .activation = format::q8_1, .weights = formats("q6_K_q5_K"), .epilogue = full_epilogue};
inline constexpr product_computation matvec_q3_K_q5_K =
    {.kind = skeleton::matvec, .activation = format::q8_1, .weights = formats("q3_K_q5_K"), .epilogue = full_epilogue};
inline constexpr product_computation matvec_q8_0_q5_0 =
    {.kind = skeleton::matvec, .activation = format::q8_1, .weights = formats("q8_0_q5_0"), .epilogue = full_epilogue};

}  // namespace CATENA_NAMESPACE::instances::computations
