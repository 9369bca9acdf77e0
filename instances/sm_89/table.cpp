// Generated from generators/catalogue.hpp and generators/policies.cpp: do not edit, regenerate. Hash d9ac41b55fba9e41.
// The table of sm_89.
#include "catena/instances/sm_89.hpp"

#if CATENA_WITH_CUDA
#include "catena/instances/gather.hpp"
#include "catena/launch/cuda.cuh"
#endif

namespace catena::instances {

namespace {

constexpr row rows[] = {
#include "rows.inc"
};

constexpr lowered_chain chains[] = {
#include "../chains.inc"
};

}  // namespace

#if CATENA_WITH_CUDA
namespace sm_89_row_add_layer_norm_mul_bias { extern const void* const kernels[8]; }
namespace sm_89_row_add_rms_norm_mul_bias { extern const void* const kernels[4]; }
namespace sm_89_row_combine_add_rms_norm_mul { extern const void* const kernels[6]; }
namespace sm_89_row_glu { extern const void* const kernels[8]; }
namespace sm_89_row_l2_norm { extern const void* const kernels[5]; }
namespace sm_89_row_quantize { extern const void* const kernels[8]; }
namespace sm_89_row_rms_norm_mul_add_rms_norm_mul { extern const void* const kernels[2]; }
namespace sm_89_row_rms_norm_mul_gate { extern const void* const kernels[5]; }
namespace sm_89_matvec_q8_0 { extern const void* const kernels[5]; }
namespace sm_89_matmul_q8_0 { extern const void* const kernels[4]; }
namespace sm_89_matvec_q4_0 { extern const void* const kernels[3]; }
namespace sm_89_matmul_q4_0 { extern const void* const kernels[4]; }
namespace sm_89_matvec_q4_1 { extern const void* const kernels[3]; }
namespace sm_89_matmul_q4_1 { extern const void* const kernels[4]; }
namespace sm_89_matvec_q5_0 { extern const void* const kernels[3]; }
namespace sm_89_matmul_q5_0 { extern const void* const kernels[4]; }
namespace sm_89_matvec_q5_1 { extern const void* const kernels[3]; }
namespace sm_89_matmul_q5_1 { extern const void* const kernels[4]; }
namespace sm_89_matvec_q2_K { extern const void* const kernels[3]; }
namespace sm_89_matmul_q2_K { extern const void* const kernels[4]; }
namespace sm_89_matvec_q3_K { extern const void* const kernels[3]; }
namespace sm_89_matmul_q3_K { extern const void* const kernels[4]; }
namespace sm_89_matvec_q4_K { extern const void* const kernels[5]; }
namespace sm_89_matmul_q4_K { extern const void* const kernels[4]; }
namespace sm_89_matvec_q5_K { extern const void* const kernels[3]; }
namespace sm_89_matmul_q5_K { extern const void* const kernels[3]; }
namespace sm_89_matvec_q6_K { extern const void* const kernels[4]; }
namespace sm_89_matmul_q6_K { extern const void* const kernels[3]; }
namespace sm_89_matvec_iq4_nl { extern const void* const kernels[3]; }
namespace sm_89_matmul_iq4_nl { extern const void* const kernels[4]; }
namespace sm_89_matvec_iq4_xs { extern const void* const kernels[3]; }
namespace sm_89_matmul_iq4_xs { extern const void* const kernels[3]; }
namespace sm_89_matvec_mxfp4 { extern const void* const kernels[4]; }
namespace sm_89_matmul_mxfp4 { extern const void* const kernels[4]; }
namespace sm_89_matvec_nvfp4 { extern const void* const kernels[3]; }
namespace sm_89_matmul_nvfp4 { extern const void* const kernels[4]; }
namespace sm_89_matvec_iq2_xxs { extern const void* const kernels[3]; }
namespace sm_89_matmul_iq2_xxs { extern const void* const kernels[4]; }
namespace sm_89_matvec_iq2_xs { extern const void* const kernels[3]; }
namespace sm_89_matmul_iq2_xs { extern const void* const kernels[4]; }
namespace sm_89_matvec_iq2_s { extern const void* const kernels[3]; }
namespace sm_89_matmul_iq2_s { extern const void* const kernels[4]; }
namespace sm_89_matvec_iq3_xxs { extern const void* const kernels[3]; }
namespace sm_89_matmul_iq3_xxs { extern const void* const kernels[4]; }
namespace sm_89_matvec_iq3_s { extern const void* const kernels[3]; }
namespace sm_89_matmul_iq3_s { extern const void* const kernels[4]; }
namespace sm_89_matvec_iq1_s { extern const void* const kernels[3]; }
namespace sm_89_matmul_iq1_s { extern const void* const kernels[4]; }
namespace sm_89_matvec_iq1_m { extern const void* const kernels[3]; }
namespace sm_89_matmul_iq1_m { extern const void* const kernels[4]; }
namespace sm_89_matvec_q1_0 { extern const void* const kernels[3]; }
namespace sm_89_matmul_q1_0 { extern const void* const kernels[5]; }
namespace sm_89_matvec_q2_0 { extern const void* const kernels[3]; }
namespace sm_89_matmul_q2_0 { extern const void* const kernels[5]; }
namespace sm_89_matvec_tq1_0 { extern const void* const kernels[3]; }
namespace sm_89_matmul_tq1_0 { extern const void* const kernels[4]; }
namespace sm_89_matvec_tq2_0 { extern const void* const kernels[3]; }
namespace sm_89_matmul_tq2_0 { extern const void* const kernels[4]; }
namespace sm_89_matvec_q4_K_q6_K { extern const void* const kernels[4]; }
namespace sm_89_matvec_q4_K_q5_K { extern const void* const kernels[3]; }
namespace sm_89_matvec_q6_K_q5_K { extern const void* const kernels[3]; }
namespace sm_89_matvec_q3_K_q5_K { extern const void* const kernels[3]; }
namespace sm_89_matvec_q8_0_q5_0 { extern const void* const kernels[3]; }
namespace sm_89_matvec_f16 { extern const void* const kernels[4]; }
namespace sm_89_matmul_f16 { extern const void* const kernels[3]; }
namespace sm_89_matvec_bf16 { extern const void* const kernels[4]; }
namespace sm_89_matmul_bf16 { extern const void* const kernels[3]; }
namespace sm_89_matvec_f32 { extern const void* const kernels[5]; }
namespace sm_89_matmul_f32 { extern const void* const kernels[3]; }
namespace sm_89_matvec_fp8_e4m3 { extern const void* const kernels[3]; }
namespace sm_89_matmul_fp8_e4m3 { extern const void* const kernels[3]; }
#endif

table sm_89() {
    table t;
    t.target = arch_named("sm_89");
    t.rows = rows;
    t.row_count = 270;
    t.chains = chains;
    t.chain_count = sizeof(chains) / sizeof(chains[0]);
#if CATENA_WITH_CUDA
    static const auto kernels = gather(
        sm_89_row_add_layer_norm_mul_bias::kernels,
        sm_89_row_add_rms_norm_mul_bias::kernels,
        sm_89_row_combine_add_rms_norm_mul::kernels,
        sm_89_row_glu::kernels,
        sm_89_row_l2_norm::kernels,
        sm_89_row_quantize::kernels,
        sm_89_row_rms_norm_mul_add_rms_norm_mul::kernels,
        sm_89_row_rms_norm_mul_gate::kernels,
        sm_89_matvec_q8_0::kernels,
        sm_89_matmul_q8_0::kernels,
        sm_89_matvec_q4_0::kernels,
        sm_89_matmul_q4_0::kernels,
        sm_89_matvec_q4_1::kernels,
        sm_89_matmul_q4_1::kernels,
        sm_89_matvec_q5_0::kernels,
        sm_89_matmul_q5_0::kernels,
        sm_89_matvec_q5_1::kernels,
        sm_89_matmul_q5_1::kernels,
        sm_89_matvec_q2_K::kernels,
        sm_89_matmul_q2_K::kernels,
        sm_89_matvec_q3_K::kernels,
        sm_89_matmul_q3_K::kernels,
        sm_89_matvec_q4_K::kernels,
        sm_89_matmul_q4_K::kernels,
        sm_89_matvec_q5_K::kernels,
        sm_89_matmul_q5_K::kernels,
        sm_89_matvec_q6_K::kernels,
        sm_89_matmul_q6_K::kernels,
        sm_89_matvec_iq4_nl::kernels,
        sm_89_matmul_iq4_nl::kernels,
        sm_89_matvec_iq4_xs::kernels,
        sm_89_matmul_iq4_xs::kernels,
        sm_89_matvec_mxfp4::kernels,
        sm_89_matmul_mxfp4::kernels,
        sm_89_matvec_nvfp4::kernels,
        sm_89_matmul_nvfp4::kernels,
        sm_89_matvec_iq2_xxs::kernels,
        sm_89_matmul_iq2_xxs::kernels,
        sm_89_matvec_iq2_xs::kernels,
        sm_89_matmul_iq2_xs::kernels,
        sm_89_matvec_iq2_s::kernels,
        sm_89_matmul_iq2_s::kernels,
        sm_89_matvec_iq3_xxs::kernels,
        sm_89_matmul_iq3_xxs::kernels,
        sm_89_matvec_iq3_s::kernels,
        sm_89_matmul_iq3_s::kernels,
        sm_89_matvec_iq1_s::kernels,
        sm_89_matmul_iq1_s::kernels,
        sm_89_matvec_iq1_m::kernels,
        sm_89_matmul_iq1_m::kernels,
        sm_89_matvec_q1_0::kernels,
        sm_89_matmul_q1_0::kernels,
        sm_89_matvec_q2_0::kernels,
        sm_89_matmul_q2_0::kernels,
        sm_89_matvec_tq1_0::kernels,
        sm_89_matmul_tq1_0::kernels,
        sm_89_matvec_tq2_0::kernels,
        sm_89_matmul_tq2_0::kernels,
        sm_89_matvec_q4_K_q6_K::kernels,
        sm_89_matvec_q4_K_q5_K::kernels,
        sm_89_matvec_q6_K_q5_K::kernels,
        sm_89_matvec_q3_K_q5_K::kernels,
        sm_89_matvec_q8_0_q5_0::kernels,
        sm_89_matvec_f16::kernels,
        sm_89_matmul_f16::kernels,
        sm_89_matvec_bf16::kernels,
        sm_89_matmul_bf16::kernels,
        sm_89_matvec_f32::kernels,
        sm_89_matmul_f32::kernels,
        sm_89_matvec_fp8_e4m3::kernels,
        sm_89_matmul_fp8_e4m3::kernels);
    static_assert(sizeof(kernels) / sizeof(void*) == sizeof(rows) / sizeof(row));
    t.kernels = kernels.data();
    t.launch = launch_cuda;
#endif
    return t;
}

}  // namespace catena::instances
