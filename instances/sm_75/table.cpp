// Generated from generators/catalogue.hpp and generators/policies.cpp: do not edit, regenerate. Hash ef4719c28306b944.
// The table of sm_75.
#include "catena/instances/sm_75.hpp"

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
namespace sm_75_row { extern const void* const kernels[16]; }
namespace sm_75_matvec_q8_0 { extern const void* const kernels[7]; }
namespace sm_75_matvec_q4_0 { extern const void* const kernels[7]; }
namespace sm_75_matvec_q4_K { extern const void* const kernels[7]; }
namespace sm_75_matvec_q6_K { extern const void* const kernels[7]; }
namespace sm_75_matvec_q4_K_q6_K { extern const void* const kernels[7]; }
#endif

table sm_75() {
    table t;
    t.target = arch_named("sm_75");
    t.rows = rows;
    t.row_count = 51;
    t.chains = chains;
    t.chain_count = sizeof(chains) / sizeof(chains[0]);
#if CATENA_WITH_CUDA
    static const auto kernels = gather(
        sm_75_row::kernels,
        sm_75_matvec_q8_0::kernels,
        sm_75_matvec_q4_0::kernels,
        sm_75_matvec_q4_K::kernels,
        sm_75_matvec_q6_K::kernels,
        sm_75_matvec_q4_K_q6_K::kernels);
    static_assert(sizeof(kernels) / sizeof(void*) == sizeof(rows) / sizeof(row));
    t.kernels = kernels.data();
    t.launch = launch_cuda;
#endif
    return t;
}

}  // namespace catena::instances
