// Generated from generators/catalogue.hpp and generators/policies.cpp: do not edit, regenerate. Hash b9df1c86f7c5dbf4.
// The table of the host set, and the list of all host kernels.
#include "catena/instances/host.hpp"

#include "catena/instances/host_instance.hpp"

namespace catena::instances {

namespace {

constexpr row rows[] = {
#include "rows.inc"
};

constexpr lowered_chain chains[] = {
#include "../chains.inc"
};

}  // namespace

namespace host_matmul_bf16_0 { extern const host_instance kernels[6]; }
namespace host_matmul_f16_0 { extern const host_instance kernels[6]; }
namespace host_matmul_f32_0 { extern const host_instance kernels[4]; }
namespace host_matmul_fp8_e4m3_0 { extern const host_instance kernels[5]; }
namespace host_matmul_iq1_m_0 { extern const host_instance kernels[7]; }
namespace host_matmul_iq1_s_0 { extern const host_instance kernels[7]; }
namespace host_matmul_iq2_s_0 { extern const host_instance kernels[7]; }
namespace host_matmul_iq2_xs_0 { extern const host_instance kernels[7]; }
namespace host_matmul_iq2_xxs_0 { extern const host_instance kernels[7]; }
namespace host_matmul_iq3_s_0 { extern const host_instance kernels[7]; }
namespace host_matmul_iq3_xxs_0 { extern const host_instance kernels[7]; }
namespace host_matmul_iq4_nl_0 { extern const host_instance kernels[7]; }
namespace host_matmul_iq4_xs_0 { extern const host_instance kernels[7]; }
namespace host_matmul_mxfp4_0 { extern const host_instance kernels[7]; }
namespace host_matmul_nvfp4_0 { extern const host_instance kernels[7]; }
namespace host_matmul_q1_0_0 { extern const host_instance kernels[7]; }
namespace host_matmul_q2_0_0 { extern const host_instance kernels[7]; }
namespace host_matmul_q2_K_0 { extern const host_instance kernels[7]; }
namespace host_matmul_q3_K_0 { extern const host_instance kernels[7]; }
namespace host_matmul_q4_0_0 { extern const host_instance kernels[7]; }
namespace host_matmul_q4_1_0 { extern const host_instance kernels[7]; }
namespace host_matmul_q4_K_0 { extern const host_instance kernels[8]; }
namespace host_matmul_q4_K_1 { extern const host_instance kernels[8]; }
namespace host_matmul_q4_K_2 { extern const host_instance kernels[1]; }
namespace host_matmul_q5_0_0 { extern const host_instance kernels[7]; }
namespace host_matmul_q5_1_0 { extern const host_instance kernels[7]; }
namespace host_matmul_q5_K_0 { extern const host_instance kernels[7]; }
namespace host_matmul_q6_K_0 { extern const host_instance kernels[7]; }
namespace host_matmul_q8_0_0 { extern const host_instance kernels[7]; }
namespace host_matmul_tq1_0_0 { extern const host_instance kernels[7]; }
namespace host_matmul_tq2_0_0 { extern const host_instance kernels[7]; }
namespace host_matvec_bf16_0 { extern const host_instance kernels[4]; }
namespace host_matvec_f16_0 { extern const host_instance kernels[4]; }
namespace host_matvec_f32_0 { extern const host_instance kernels[5]; }
namespace host_matvec_fp8_e4m3_0 { extern const host_instance kernels[3]; }
namespace host_matvec_iq1_m_0 { extern const host_instance kernels[3]; }
namespace host_matvec_iq1_s_0 { extern const host_instance kernels[3]; }
namespace host_matvec_iq2_s_0 { extern const host_instance kernels[3]; }
namespace host_matvec_iq2_xs_0 { extern const host_instance kernels[3]; }
namespace host_matvec_iq2_xxs_0 { extern const host_instance kernels[3]; }
namespace host_matvec_iq3_s_0 { extern const host_instance kernels[3]; }
namespace host_matvec_iq3_xxs_0 { extern const host_instance kernels[3]; }
namespace host_matvec_iq4_nl_0 { extern const host_instance kernels[3]; }
namespace host_matvec_iq4_xs_0 { extern const host_instance kernels[3]; }
namespace host_matvec_mxfp4_0 { extern const host_instance kernels[4]; }
namespace host_matvec_nvfp4_0 { extern const host_instance kernels[3]; }
namespace host_matvec_q1_0_0 { extern const host_instance kernels[3]; }
namespace host_matvec_q2_0_0 { extern const host_instance kernels[3]; }
namespace host_matvec_q2_K_0 { extern const host_instance kernels[3]; }
namespace host_matvec_q3_K_0 { extern const host_instance kernels[3]; }
namespace host_matvec_q3_K_q5_K_0 { extern const host_instance kernels[3]; }
namespace host_matvec_q4_0_0 { extern const host_instance kernels[3]; }
namespace host_matvec_q4_1_0 { extern const host_instance kernels[3]; }
namespace host_matvec_q4_K_0 { extern const host_instance kernels[8]; }
namespace host_matvec_q4_K_1 { extern const host_instance kernels[6]; }
namespace host_matvec_q4_K_q5_K_0 { extern const host_instance kernels[3]; }
namespace host_matvec_q4_K_q6_K_0 { extern const host_instance kernels[4]; }
namespace host_matvec_q5_0_0 { extern const host_instance kernels[3]; }
namespace host_matvec_q5_1_0 { extern const host_instance kernels[3]; }
namespace host_matvec_q5_K_0 { extern const host_instance kernels[3]; }
namespace host_matvec_q6_K_0 { extern const host_instance kernels[4]; }
namespace host_matvec_q6_K_q5_K_0 { extern const host_instance kernels[3]; }
namespace host_matvec_q8_0_0 { extern const host_instance kernels[5]; }
namespace host_matvec_q8_0_q5_0_0 { extern const host_instance kernels[3]; }
namespace host_matvec_tq1_0_0 { extern const host_instance kernels[3]; }
namespace host_matvec_tq2_0_0 { extern const host_instance kernels[3]; }
namespace host_row_add_layer_norm_mul_bias_0 { extern const host_instance kernels[8]; }
namespace host_row_add_rms_norm_mul_bias_0 { extern const host_instance kernels[4]; }
namespace host_row_combine_add_rms_norm_mul_0 { extern const host_instance kernels[6]; }
namespace host_row_glu_0 { extern const host_instance kernels[8]; }
namespace host_row_l2_norm_0 { extern const host_instance kernels[5]; }
namespace host_row_quantize_0 { extern const host_instance kernels[8]; }
namespace host_row_rms_norm_mul_add_rms_norm_mul_0 { extern const host_instance kernels[2]; }
namespace host_row_rms_norm_mul_gate_0 { extern const host_instance kernels[5]; }
#if CATENA_EVERY_ROW
namespace host_other_matmul_bf16_0 { extern const host_instance kernels[6]; }
namespace host_other_matmul_f16_0 { extern const host_instance kernels[8]; }
namespace host_other_matmul_f32_0 { extern const host_instance kernels[7]; }
namespace host_other_matmul_fp8_e4m3_0 { extern const host_instance kernels[5]; }
namespace host_other_matmul_iq1_m_0 { extern const host_instance kernels[8]; }
namespace host_other_matmul_iq1_m_1 { extern const host_instance kernels[2]; }
namespace host_other_matmul_iq1_s_0 { extern const host_instance kernels[8]; }
namespace host_other_matmul_iq1_s_1 { extern const host_instance kernels[2]; }
namespace host_other_matmul_iq2_s_0 { extern const host_instance kernels[8]; }
namespace host_other_matmul_iq2_s_1 { extern const host_instance kernels[2]; }
namespace host_other_matmul_iq2_xs_0 { extern const host_instance kernels[8]; }
namespace host_other_matmul_iq2_xs_1 { extern const host_instance kernels[2]; }
namespace host_other_matmul_iq2_xxs_0 { extern const host_instance kernels[8]; }
namespace host_other_matmul_iq2_xxs_1 { extern const host_instance kernels[2]; }
namespace host_other_matmul_iq3_s_0 { extern const host_instance kernels[8]; }
namespace host_other_matmul_iq3_s_1 { extern const host_instance kernels[2]; }
namespace host_other_matmul_iq3_xxs_0 { extern const host_instance kernels[8]; }
namespace host_other_matmul_iq3_xxs_1 { extern const host_instance kernels[2]; }
namespace host_other_matmul_iq4_nl_0 { extern const host_instance kernels[8]; }
namespace host_other_matmul_iq4_nl_1 { extern const host_instance kernels[5]; }
namespace host_other_matmul_iq4_xs_0 { extern const host_instance kernels[8]; }
namespace host_other_matmul_mxfp4_0 { extern const host_instance kernels[8]; }
namespace host_other_matmul_mxfp4_1 { extern const host_instance kernels[5]; }
namespace host_other_matmul_nvfp4_0 { extern const host_instance kernels[8]; }
namespace host_other_matmul_nvfp4_1 { extern const host_instance kernels[5]; }
namespace host_other_matmul_q1_0_0 { extern const host_instance kernels[8]; }
namespace host_other_matmul_q1_0_1 { extern const host_instance kernels[7]; }
namespace host_other_matmul_q2_0_0 { extern const host_instance kernels[8]; }
namespace host_other_matmul_q2_0_1 { extern const host_instance kernels[7]; }
namespace host_other_matmul_q2_K_0 { extern const host_instance kernels[8]; }
namespace host_other_matmul_q2_K_1 { extern const host_instance kernels[2]; }
namespace host_other_matmul_q3_K_0 { extern const host_instance kernels[8]; }
namespace host_other_matmul_q3_K_1 { extern const host_instance kernels[2]; }
namespace host_other_matmul_q4_0_0 { extern const host_instance kernels[8]; }
namespace host_other_matmul_q4_0_1 { extern const host_instance kernels[5]; }
namespace host_other_matmul_q4_1_0 { extern const host_instance kernels[8]; }
namespace host_other_matmul_q4_1_1 { extern const host_instance kernels[5]; }
namespace host_other_matmul_q5_0_0 { extern const host_instance kernels[8]; }
namespace host_other_matmul_q5_0_1 { extern const host_instance kernels[5]; }
namespace host_other_matmul_q5_1_0 { extern const host_instance kernels[8]; }
namespace host_other_matmul_q5_1_1 { extern const host_instance kernels[5]; }
namespace host_other_matmul_q5_K_0 { extern const host_instance kernels[8]; }
namespace host_other_matmul_q6_K_0 { extern const host_instance kernels[7]; }
namespace host_other_matmul_q8_0_0 { extern const host_instance kernels[8]; }
namespace host_other_matmul_q8_0_1 { extern const host_instance kernels[3]; }
namespace host_other_matmul_tq1_0_0 { extern const host_instance kernels[8]; }
namespace host_other_matmul_tq1_0_1 { extern const host_instance kernels[2]; }
namespace host_other_matmul_tq2_0_0 { extern const host_instance kernels[8]; }
namespace host_other_matmul_tq2_0_1 { extern const host_instance kernels[2]; }
namespace host_other_matvec_bf16_0 { extern const host_instance kernels[6]; }
namespace host_other_matvec_f16_0 { extern const host_instance kernels[6]; }
namespace host_other_matvec_f32_0 { extern const host_instance kernels[8]; }
namespace host_other_matvec_fp8_e4m3_0 { extern const host_instance kernels[4]; }
namespace host_other_matvec_iq1_m_0 { extern const host_instance kernels[4]; }
namespace host_other_matvec_iq1_s_0 { extern const host_instance kernels[4]; }
namespace host_other_matvec_iq2_s_0 { extern const host_instance kernels[4]; }
namespace host_other_matvec_iq2_xs_0 { extern const host_instance kernels[4]; }
namespace host_other_matvec_iq2_xxs_0 { extern const host_instance kernels[4]; }
namespace host_other_matvec_iq3_s_0 { extern const host_instance kernels[4]; }
namespace host_other_matvec_iq3_xxs_0 { extern const host_instance kernels[4]; }
namespace host_other_matvec_iq4_nl_0 { extern const host_instance kernels[4]; }
namespace host_other_matvec_iq4_xs_0 { extern const host_instance kernels[4]; }
namespace host_other_matvec_mxfp4_0 { extern const host_instance kernels[7]; }
namespace host_other_matvec_nvfp4_0 { extern const host_instance kernels[4]; }
namespace host_other_matvec_q1_0_0 { extern const host_instance kernels[4]; }
namespace host_other_matvec_q2_0_0 { extern const host_instance kernels[4]; }
namespace host_other_matvec_q2_K_0 { extern const host_instance kernels[4]; }
namespace host_other_matvec_q3_K_0 { extern const host_instance kernels[4]; }
namespace host_other_matvec_q3_K_q5_K_0 { extern const host_instance kernels[4]; }
namespace host_other_matvec_q4_0_0 { extern const host_instance kernels[4]; }
namespace host_other_matvec_q4_1_0 { extern const host_instance kernels[4]; }
namespace host_other_matvec_q4_K_q5_K_0 { extern const host_instance kernels[4]; }
namespace host_other_matvec_q4_K_q6_K_0 { extern const host_instance kernels[8]; }
namespace host_other_matvec_q5_0_0 { extern const host_instance kernels[4]; }
namespace host_other_matvec_q5_1_0 { extern const host_instance kernels[4]; }
namespace host_other_matvec_q5_K_0 { extern const host_instance kernels[4]; }
namespace host_other_matvec_q6_K_0 { extern const host_instance kernels[7]; }
namespace host_other_matvec_q6_K_q5_K_0 { extern const host_instance kernels[4]; }
namespace host_other_matvec_q8_0_0 { extern const host_instance kernels[8]; }
namespace host_other_matvec_q8_0_1 { extern const host_instance kernels[3]; }
namespace host_other_matvec_q8_0_q5_0_0 { extern const host_instance kernels[4]; }
namespace host_other_matvec_tq1_0_0 { extern const host_instance kernels[4]; }
namespace host_other_matvec_tq2_0_0 { extern const host_instance kernels[4]; }
#endif

const host_family host_families[] = {
    {host_matmul_bf16_0::kernels, 6},
    {host_matmul_f16_0::kernels, 6},
    {host_matmul_f32_0::kernels, 4},
    {host_matmul_fp8_e4m3_0::kernels, 5},
    {host_matmul_iq1_m_0::kernels, 7},
    {host_matmul_iq1_s_0::kernels, 7},
    {host_matmul_iq2_s_0::kernels, 7},
    {host_matmul_iq2_xs_0::kernels, 7},
    {host_matmul_iq2_xxs_0::kernels, 7},
    {host_matmul_iq3_s_0::kernels, 7},
    {host_matmul_iq3_xxs_0::kernels, 7},
    {host_matmul_iq4_nl_0::kernels, 7},
    {host_matmul_iq4_xs_0::kernels, 7},
    {host_matmul_mxfp4_0::kernels, 7},
    {host_matmul_nvfp4_0::kernels, 7},
    {host_matmul_q1_0_0::kernels, 7},
    {host_matmul_q2_0_0::kernels, 7},
    {host_matmul_q2_K_0::kernels, 7},
    {host_matmul_q3_K_0::kernels, 7},
    {host_matmul_q4_0_0::kernels, 7},
    {host_matmul_q4_1_0::kernels, 7},
    {host_matmul_q4_K_0::kernels, 8},
    {host_matmul_q4_K_1::kernels, 8},
    {host_matmul_q4_K_2::kernels, 1},
    {host_matmul_q5_0_0::kernels, 7},
    {host_matmul_q5_1_0::kernels, 7},
    {host_matmul_q5_K_0::kernels, 7},
    {host_matmul_q6_K_0::kernels, 7},
    {host_matmul_q8_0_0::kernels, 7},
    {host_matmul_tq1_0_0::kernels, 7},
    {host_matmul_tq2_0_0::kernels, 7},
    {host_matvec_bf16_0::kernels, 4},
    {host_matvec_f16_0::kernels, 4},
    {host_matvec_f32_0::kernels, 5},
    {host_matvec_fp8_e4m3_0::kernels, 3},
    {host_matvec_iq1_m_0::kernels, 3},
    {host_matvec_iq1_s_0::kernels, 3},
    {host_matvec_iq2_s_0::kernels, 3},
    {host_matvec_iq2_xs_0::kernels, 3},
    {host_matvec_iq2_xxs_0::kernels, 3},
    {host_matvec_iq3_s_0::kernels, 3},
    {host_matvec_iq3_xxs_0::kernels, 3},
    {host_matvec_iq4_nl_0::kernels, 3},
    {host_matvec_iq4_xs_0::kernels, 3},
    {host_matvec_mxfp4_0::kernels, 4},
    {host_matvec_nvfp4_0::kernels, 3},
    {host_matvec_q1_0_0::kernels, 3},
    {host_matvec_q2_0_0::kernels, 3},
    {host_matvec_q2_K_0::kernels, 3},
    {host_matvec_q3_K_0::kernels, 3},
    {host_matvec_q3_K_q5_K_0::kernels, 3},
    {host_matvec_q4_0_0::kernels, 3},
    {host_matvec_q4_1_0::kernels, 3},
    {host_matvec_q4_K_0::kernels, 8},
    {host_matvec_q4_K_1::kernels, 6},
    {host_matvec_q4_K_q5_K_0::kernels, 3},
    {host_matvec_q4_K_q6_K_0::kernels, 4},
    {host_matvec_q5_0_0::kernels, 3},
    {host_matvec_q5_1_0::kernels, 3},
    {host_matvec_q5_K_0::kernels, 3},
    {host_matvec_q6_K_0::kernels, 4},
    {host_matvec_q6_K_q5_K_0::kernels, 3},
    {host_matvec_q8_0_0::kernels, 5},
    {host_matvec_q8_0_q5_0_0::kernels, 3},
    {host_matvec_tq1_0_0::kernels, 3},
    {host_matvec_tq2_0_0::kernels, 3},
    {host_row_add_layer_norm_mul_bias_0::kernels, 8},
    {host_row_add_rms_norm_mul_bias_0::kernels, 4},
    {host_row_combine_add_rms_norm_mul_0::kernels, 6},
    {host_row_glu_0::kernels, 8},
    {host_row_l2_norm_0::kernels, 5},
    {host_row_quantize_0::kernels, 8},
    {host_row_rms_norm_mul_add_rms_norm_mul_0::kernels, 2},
    {host_row_rms_norm_mul_gate_0::kernels, 5},
#if CATENA_EVERY_ROW
    {host_other_matmul_bf16_0::kernels, 6},
    {host_other_matmul_f16_0::kernels, 8},
    {host_other_matmul_f32_0::kernels, 7},
    {host_other_matmul_fp8_e4m3_0::kernels, 5},
    {host_other_matmul_iq1_m_0::kernels, 8},
    {host_other_matmul_iq1_m_1::kernels, 2},
    {host_other_matmul_iq1_s_0::kernels, 8},
    {host_other_matmul_iq1_s_1::kernels, 2},
    {host_other_matmul_iq2_s_0::kernels, 8},
    {host_other_matmul_iq2_s_1::kernels, 2},
    {host_other_matmul_iq2_xs_0::kernels, 8},
    {host_other_matmul_iq2_xs_1::kernels, 2},
    {host_other_matmul_iq2_xxs_0::kernels, 8},
    {host_other_matmul_iq2_xxs_1::kernels, 2},
    {host_other_matmul_iq3_s_0::kernels, 8},
    {host_other_matmul_iq3_s_1::kernels, 2},
    {host_other_matmul_iq3_xxs_0::kernels, 8},
    {host_other_matmul_iq3_xxs_1::kernels, 2},
    {host_other_matmul_iq4_nl_0::kernels, 8},
    {host_other_matmul_iq4_nl_1::kernels, 5},
    {host_other_matmul_iq4_xs_0::kernels, 8},
    {host_other_matmul_mxfp4_0::kernels, 8},
    {host_other_matmul_mxfp4_1::kernels, 5},
    {host_other_matmul_nvfp4_0::kernels, 8},
    {host_other_matmul_nvfp4_1::kernels, 5},
    {host_other_matmul_q1_0_0::kernels, 8},
    {host_other_matmul_q1_0_1::kernels, 7},
    {host_other_matmul_q2_0_0::kernels, 8},
    {host_other_matmul_q2_0_1::kernels, 7},
    {host_other_matmul_q2_K_0::kernels, 8},
    {host_other_matmul_q2_K_1::kernels, 2},
    {host_other_matmul_q3_K_0::kernels, 8},
    {host_other_matmul_q3_K_1::kernels, 2},
    {host_other_matmul_q4_0_0::kernels, 8},
    {host_other_matmul_q4_0_1::kernels, 5},
    {host_other_matmul_q4_1_0::kernels, 8},
    {host_other_matmul_q4_1_1::kernels, 5},
    {host_other_matmul_q5_0_0::kernels, 8},
    {host_other_matmul_q5_0_1::kernels, 5},
    {host_other_matmul_q5_1_0::kernels, 8},
    {host_other_matmul_q5_1_1::kernels, 5},
    {host_other_matmul_q5_K_0::kernels, 8},
    {host_other_matmul_q6_K_0::kernels, 7},
    {host_other_matmul_q8_0_0::kernels, 8},
    {host_other_matmul_q8_0_1::kernels, 3},
    {host_other_matmul_tq1_0_0::kernels, 8},
    {host_other_matmul_tq1_0_1::kernels, 2},
    {host_other_matmul_tq2_0_0::kernels, 8},
    {host_other_matmul_tq2_0_1::kernels, 2},
    {host_other_matvec_bf16_0::kernels, 6},
    {host_other_matvec_f16_0::kernels, 6},
    {host_other_matvec_f32_0::kernels, 8},
    {host_other_matvec_fp8_e4m3_0::kernels, 4},
    {host_other_matvec_iq1_m_0::kernels, 4},
    {host_other_matvec_iq1_s_0::kernels, 4},
    {host_other_matvec_iq2_s_0::kernels, 4},
    {host_other_matvec_iq2_xs_0::kernels, 4},
    {host_other_matvec_iq2_xxs_0::kernels, 4},
    {host_other_matvec_iq3_s_0::kernels, 4},
    {host_other_matvec_iq3_xxs_0::kernels, 4},
    {host_other_matvec_iq4_nl_0::kernels, 4},
    {host_other_matvec_iq4_xs_0::kernels, 4},
    {host_other_matvec_mxfp4_0::kernels, 7},
    {host_other_matvec_nvfp4_0::kernels, 4},
    {host_other_matvec_q1_0_0::kernels, 4},
    {host_other_matvec_q2_0_0::kernels, 4},
    {host_other_matvec_q2_K_0::kernels, 4},
    {host_other_matvec_q3_K_0::kernels, 4},
    {host_other_matvec_q3_K_q5_K_0::kernels, 4},
    {host_other_matvec_q4_0_0::kernels, 4},
    {host_other_matvec_q4_1_0::kernels, 4},
    {host_other_matvec_q4_K_q5_K_0::kernels, 4},
    {host_other_matvec_q4_K_q6_K_0::kernels, 8},
    {host_other_matvec_q5_0_0::kernels, 4},
    {host_other_matvec_q5_1_0::kernels, 4},
    {host_other_matvec_q5_K_0::kernels, 4},
    {host_other_matvec_q6_K_0::kernels, 7},
    {host_other_matvec_q6_K_q5_K_0::kernels, 4},
    {host_other_matvec_q8_0_0::kernels, 8},
    {host_other_matvec_q8_0_1::kernels, 3},
    {host_other_matvec_q8_0_q5_0_0::kernels, 4},
    {host_other_matvec_tq1_0_0::kernels, 4},
    {host_other_matvec_tq2_0_0::kernels, 4},
#endif
};
const int host_family_count = sizeof(host_families) / sizeof(host_family);

table host() {
    table t;
    t.target = arch_named("host");
    t.rows = rows;
    t.row_count = 355;
    t.chains = chains;
    t.chain_count = sizeof(chains) / sizeof(chains[0]);
    return on_host(t);
}

}  // namespace catena::instances
