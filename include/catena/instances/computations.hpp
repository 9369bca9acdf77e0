// Generated from generators/catalogue.hpp and generators/policies.cpp: do not edit, regenerate. Hash fbb84de4e93be96c.
// What the rows of every instance set compute, by the names that the rows use.
#pragma once

#include "catena/instances/rows.hpp"

namespace CATENA_NAMESPACE::instances::computations {

inline constexpr row_computation combine_scale_add_rms_norm_mul_ggml =
    {.stages = stage_set::of(stage_kind::combine) | stage_kind::scale | stage_kind::add_residual | stage_kind::rms_norm | stage_kind::mul_weight, .emits = formats("ggml")};
inline constexpr row_computation convolve_rms_norm_f32 =
    {.stages = stage_set::of(stage_kind::convolve) | stage_kind::rms_norm, .emits = formats("f32")};
inline constexpr row_computation delta_rule_f32 =
    {.stages = stage_set::of(stage_kind::delta_rule), .emits = formats("f32")};
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
inline constexpr row_computation rms_norm_mul_rope_store_attend_attended =
    {.stages = stage_set::of(stage_kind::rms_norm) | stage_kind::mul_weight | stage_kind::rope | stage_kind::store | stage_kind::attend, .emits = formats("attended")};
inline constexpr row_computation scale_add_layer_norm_mul_bias_ggml =
    {.stages = stage_set::of(stage_kind::scale) | stage_kind::add_residual | stage_kind::layer_norm | stage_kind::mul_weight | stage_kind::add_bias, .emits = formats("ggml")};
inline constexpr row_computation scale_add_layer_norm_mul_bias_engines =
    {.stages = stage_set::of(stage_kind::scale) | stage_kind::add_residual | stage_kind::layer_norm | stage_kind::mul_weight | stage_kind::add_bias, .emits = formats("engines")};
inline constexpr row_computation scale_add_rms_norm_mul_bias_engines =
    {.stages = stage_set::of(stage_kind::scale) | stage_kind::add_residual | stage_kind::rms_norm | stage_kind::mul_weight | stage_kind::add_bias, .emits = formats("engines")};
inline constexpr row_computation score_choose_weigh_f32 =
    {.stages = stage_set::of(stage_kind::score) | stage_kind::choose | stage_kind::weigh, .emits = formats("f32")};
inline constexpr row_computation ssm_scan_f32 =
    {.stages = stage_set::of(stage_kind::ssm_scan), .emits = formats("f32")};
inline constexpr auto matvec_f32 = matvec(format::f32, "f32");
inline constexpr product_computation matvec_f32_norm =
    {.kind = skeleton::matvec, .stages = stage_set::of(stage_kind::rms_norm) | stage_kind::mul_weight, .emits = formats("f32_q8_1"), .activation = format::f32, .weights = formats("f32"), .epilogue = full_epilogue};
inline constexpr auto matmul_f32_f32 = matmul(format::f32, "f32");
inline constexpr auto matvec_f16 = matvec(format::f32, "f16");
inline constexpr auto matmul_f16_f32 = matmul(format::f32, "f16");
inline constexpr auto matmul_f16_f16_mma = matmul(format::f16_mma, "f16");
inline constexpr auto matvec_bf16 = matvec(format::f32, "bf16");
inline constexpr auto matmul_bf16_f32 = matmul(format::f32, "bf16");
inline constexpr auto matmul_bf16_bf16_mma = matmul(format::bf16_mma, "bf16");
inline constexpr auto matvec_q8_0 = matvec(format::q8_1, "q8_0");
inline constexpr product_computation matvec_q8_0_norm =
    {.kind = skeleton::matvec, .stages = stage_set::of(stage_kind::rms_norm) | stage_kind::mul_weight, .activation = format::q8_1, .weights = formats("q8_0"), .epilogue = full_epilogue};
inline constexpr product_computation matvec_q8_0_norm_heads =
    {.kind = skeleton::matvec, .stages = stage_set::of(stage_kind::rms_norm) | stage_kind::mul_weight, .activation = format::q8_1, .weights = formats("q8_0"), .epilogue = epilogue_set::of(epilogue_part::bias) | epilogue_part::heads};
inline constexpr auto matmul_q8_0_q8_1_mmq_d4 = matmul(format::q8_1_mmq_d4, "q8_0");
inline constexpr auto matmul_q8_0_bf16_mma = matmul(format::bf16_mma, "q8_0");
inline constexpr auto matvec_q4_0 = matvec(format::q8_1, "q4_0");
inline constexpr auto matmul_q4_0_q8_1_mmq_ds4 = matmul(format::q8_1_mmq_ds4, "q4_0");
inline constexpr auto matmul_q4_0_bf16_mma = matmul(format::bf16_mma, "q4_0");
inline constexpr auto matvec_q4_K = matvec(format::q8_1, "q4_K");
inline constexpr product_computation matvec_q4_K_norm =
    {.kind = skeleton::matvec, .stages = stage_set::of(stage_kind::rms_norm) | stage_kind::mul_weight, .activation = format::q8_1, .weights = formats("q4_K"), .epilogue = full_epilogue};
inline constexpr product_computation matvec_q4_K_norm_heads =
    {.kind = skeleton::matvec, .stages = stage_set::of(stage_kind::rms_norm) | stage_kind::mul_weight, .activation = format::q8_1, .weights = formats("q4_K"), .epilogue = epilogue_set::of(epilogue_part::bias) | epilogue_part::heads};
inline constexpr product_computation matvec_q4_K_routed =
    {.kind = skeleton::matvec, .stages = stage_set::of(stage_kind::score) | stage_kind::choose | stage_kind::weigh, .activation = format::q8_1, .weights = formats("q4_K"), .epilogue = tile_epilogue};
inline constexpr auto matmul_q4_K_q8_1_mmq_ds4 = matmul(format::q8_1_mmq_ds4, "q4_K");
inline constexpr auto matmul_q4_K_bf16_mma = matmul(format::bf16_mma, "q4_K");
inline constexpr auto matvec_q6_K = matvec(format::q8_1, "q6_K");
inline constexpr auto matmul_q6_K_q8_1_mmq_d4 = matmul(format::q8_1_mmq_d4, "q6_K");
inline constexpr auto matmul_q6_K_bf16_mma = matmul(format::bf16_mma, "q6_K");
inline constexpr auto matvec_q1_0 = matvec(format::q8_1, "q1_0");
inline constexpr auto matmul_q1_0_q8_1_mmq_d4 = matmul(format::q8_1_mmq_d4, "q1_0");
inline constexpr auto matmul_q1_0_bf16_mma = matmul(format::bf16_mma, "q1_0");
inline constexpr auto matvec_q2_0 = matvec(format::q8_1, "q2_0");
inline constexpr auto matmul_q2_0_q8_1_mmq_d4 = matmul(format::q8_1_mmq_d4, "q2_0");
inline constexpr auto matmul_q2_0_bf16_mma = matmul(format::bf16_mma, "q2_0");
inline constexpr auto matvec_q4_1 = matvec(format::q8_1, "q4_1");
inline constexpr auto matmul_q4_1_q8_1_mmq_ds4 = matmul(format::q8_1_mmq_ds4, "q4_1");
inline constexpr auto matmul_q4_1_bf16_mma = matmul(format::bf16_mma, "q4_1");
inline constexpr auto matvec_q5_0 = matvec(format::q8_1, "q5_0");
inline constexpr auto matmul_q5_0_q8_1_mmq_d4 = matmul(format::q8_1_mmq_d4, "q5_0");
inline constexpr auto matmul_q5_0_bf16_mma = matmul(format::bf16_mma, "q5_0");
inline constexpr auto matvec_q5_1 = matvec(format::q8_1, "q5_1");
inline constexpr auto matmul_q5_1_q8_1_mmq_ds4 = matmul(format::q8_1_mmq_ds4, "q5_1");
inline constexpr auto matmul_q5_1_bf16_mma = matmul(format::bf16_mma, "q5_1");
inline constexpr auto matvec_mxfp4 = matvec(format::q8_1, "mxfp4");
inline constexpr product_computation matvec_mxfp4_routed =
    {.kind = skeleton::matvec, .stages = stage_set::of(stage_kind::score) | stage_kind::choose | stage_kind::weigh, .activation = format::q8_1, .weights = formats("mxfp4"), .epilogue = tile_epilogue};
inline constexpr auto matmul_mxfp4_q8_1_mmq_d4 = matmul(format::q8_1_mmq_d4, "mxfp4");
inline constexpr auto matmul_mxfp4_bf16_mma = matmul(format::bf16_mma, "mxfp4");
inline constexpr auto matvec_nvfp4 = matvec(format::q8_1, "nvfp4");
inline constexpr auto matmul_nvfp4_q8_1_mmq_d4 = matmul(format::q8_1_mmq_d4, "nvfp4");
inline constexpr auto matmul_nvfp4_bf16_mma = matmul(format::bf16_mma, "nvfp4");
inline constexpr auto matvec_iq4_nl = matvec(format::q8_1, "iq4_nl");
inline constexpr auto matmul_iq4_nl_q8_1_mmq_d4 = matmul(format::q8_1_mmq_d4, "iq4_nl");
inline constexpr auto matmul_iq4_nl_bf16_mma = matmul(format::bf16_mma, "iq4_nl");
inline constexpr auto matvec_q2_K = matvec(format::q8_1, "q2_K");
inline constexpr auto matmul_q2_K_q8_1_mmq_d4 = matmul(format::q8_1_mmq_d4, "q2_K");
inline constexpr auto matmul_q2_K_bf16_mma = matmul(format::bf16_mma, "q2_K");
inline constexpr auto matvec_q3_K = matvec(format::q8_1, "q3_K");
inline constexpr auto matmul_q3_K_q8_1_mmq_d4 = matmul(format::q8_1_mmq_d4, "q3_K");
inline constexpr auto matmul_q3_K_bf16_mma = matmul(format::bf16_mma, "q3_K");
inline constexpr auto matvec_q5_K = matvec(format::q8_1, "q5_K");
inline constexpr auto matmul_q5_K_q8_1_mmq_ds4 = matmul(format::q8_1_mmq_ds4, "q5_K");
inline constexpr auto matmul_q5_K_bf16_mma = matmul(format::bf16_mma, "q5_K");
inline constexpr auto matvec_iq4_xs = matvec(format::q8_1, "iq4_xs");
inline constexpr auto matmul_iq4_xs_q8_1_mmq_d4 = matmul(format::q8_1_mmq_d4, "iq4_xs");
inline constexpr auto matmul_iq4_xs_bf16_mma = matmul(format::bf16_mma, "iq4_xs");
inline constexpr auto matvec_iq2_xxs = matvec(format::q8_1, "iq2_xxs");
inline constexpr auto matmul_iq2_xxs_q8_1_mmq_d4 = matmul(format::q8_1_mmq_d4, "iq2_xxs");
inline constexpr auto matmul_iq2_xxs_bf16_mma = matmul(format::bf16_mma, "iq2_xxs");
inline constexpr auto matvec_iq2_xs = matvec(format::q8_1, "iq2_xs");
inline constexpr auto matmul_iq2_xs_q8_1_mmq_d4 = matmul(format::q8_1_mmq_d4, "iq2_xs");
inline constexpr auto matmul_iq2_xs_bf16_mma = matmul(format::bf16_mma, "iq2_xs");
inline constexpr auto matvec_iq2_s = matvec(format::q8_1, "iq2_s");
inline constexpr auto matmul_iq2_s_q8_1_mmq_d4 = matmul(format::q8_1_mmq_d4, "iq2_s");
inline constexpr auto matmul_iq2_s_bf16_mma = matmul(format::bf16_mma, "iq2_s");
inline constexpr auto matvec_iq3_xxs = matvec(format::q8_1, "iq3_xxs");
inline constexpr auto matmul_iq3_xxs_q8_1_mmq_d4 = matmul(format::q8_1_mmq_d4, "iq3_xxs");
inline constexpr auto matmul_iq3_xxs_bf16_mma = matmul(format::bf16_mma, "iq3_xxs");
inline constexpr auto matvec_iq3_s = matvec(format::q8_1, "iq3_s");
inline constexpr auto matmul_iq3_s_q8_1_mmq_d4 = matmul(format::q8_1_mmq_d4, "iq3_s");
inline constexpr auto matmul_iq3_s_bf16_mma = matmul(format::bf16_mma, "iq3_s");
inline constexpr auto matvec_iq1_s = matvec(format::q8_1, "iq1_s");
inline constexpr auto matmul_iq1_s_q8_1_mmq_ds4 = matmul(format::q8_1_mmq_ds4, "iq1_s");
inline constexpr auto matmul_iq1_s_bf16_mma = matmul(format::bf16_mma, "iq1_s");
inline constexpr auto matvec_iq1_m = matvec(format::q8_1, "iq1_m");
inline constexpr auto matmul_iq1_m_q8_1_mmq_d4 = matmul(format::q8_1_mmq_d4, "iq1_m");
inline constexpr auto matmul_iq1_m_bf16_mma = matmul(format::bf16_mma, "iq1_m");
inline constexpr auto matvec_tq1_0 = matvec(format::q8_1, "tq1_0");
inline constexpr auto matmul_tq1_0_q8_1_mmq_d4 = matmul(format::q8_1_mmq_d4, "tq1_0");
inline constexpr auto matmul_tq1_0_bf16_mma = matmul(format::bf16_mma, "tq1_0");
inline constexpr auto matvec_tq2_0 = matvec(format::q8_1, "tq2_0");
inline constexpr auto matmul_tq2_0_q8_1_mmq_d4 = matmul(format::q8_1_mmq_d4, "tq2_0");
inline constexpr auto matmul_tq2_0_bf16_mma = matmul(format::bf16_mma, "tq2_0");
inline constexpr auto matvec_fp8_e4m3 = matvec(format::f32, "fp8_e4m3");
inline constexpr auto matmul_fp8_e4m3_fp8_group = matmul(format::fp8_group, "fp8_e4m3");
inline constexpr auto matvec_q4_K_q6_K = matvec(format::q8_1, "q4_K_q6_K");
inline constexpr product_computation matvec_q4_K_q6_K_norm =
    {.kind = skeleton::matvec, .stages = stage_set::of(stage_kind::rms_norm) | stage_kind::mul_weight, .activation = format::q8_1, .weights = formats("q4_K_q6_K"), .epilogue = full_epilogue};
inline constexpr product_computation matvec_q4_K_q6_K_norm_heads =
    {.kind = skeleton::matvec, .stages = stage_set::of(stage_kind::rms_norm) | stage_kind::mul_weight, .activation = format::q8_1, .weights = formats("q4_K_q6_K"), .epilogue = epilogue_set::of(epilogue_part::bias) | epilogue_part::heads};
inline constexpr auto matvec_q4_K_q5_K = matvec(format::q8_1, "q4_K_q5_K");
inline constexpr auto matvec_q6_K_q5_K = matvec(format::q8_1, "q6_K_q5_K");
inline constexpr auto matvec_q3_K_q5_K = matvec(format::q8_1, "q3_K_q5_K");
inline constexpr auto matvec_q8_0_q5_0 = matvec(format::q8_1, "q8_0_q5_0");

}  // namespace CATENA_NAMESPACE::instances::computations
