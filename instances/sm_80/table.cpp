// Generated from generators/catalogue.hpp and generators/policies.cpp: do not edit, regenerate. Hash f40a31816f854326.
// The table of sm_80.
#include "catena/instances/sm_80.hpp"

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
namespace sm_80_row { extern const void* const kernels[16]; }
namespace sm_80_matvec_q8_0 { extern const void* const kernels[8]; }
namespace sm_80_matvec_q4_0 { extern const void* const kernels[8]; }
namespace sm_80_matvec_q4_K { extern const void* const kernels[8]; }
namespace sm_80_matvec_q6_K { extern const void* const kernels[8]; }
namespace sm_80_matvec_q4_K_q6_K { extern const void* const kernels[8]; }
#endif

table sm_80() {
    table t;
    t.target = arch_named("sm_80");
    t.rows = rows;
    t.row_count = 56;
    t.chains = chains;
    t.chain_count = sizeof(chains) / sizeof(chains[0]);
#if CATENA_WITH_CUDA
    static const auto kernels = gather(
        sm_80_row::kernels,
        sm_80_matvec_q8_0::kernels,
        sm_80_matvec_q4_0::kernels,
        sm_80_matvec_q4_K::kernels,
        sm_80_matvec_q6_K::kernels,
        sm_80_matvec_q4_K_q6_K::kernels);
    static_assert(sizeof(kernels) / sizeof(void*) == sizeof(rows) / sizeof(row));
    t.kernels = kernels.data();
    t.launch = launch_cuda;
#endif
    return t;
}

}  // namespace catena::instances
