// Generated from generators/catalogue.hpp and generators/policies.cpp: do not edit, regenerate. Hash 4e6ee5480a92f700.
// The table of sm_100.
#include "catena/instances/sm_100.hpp"

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
namespace sm_100_row { extern const void* const kernels[16]; }
namespace sm_100_matvec_q8_0 { extern const void* const kernels[8]; }
namespace sm_100_matvec_q4_0 { extern const void* const kernels[8]; }
namespace sm_100_matvec_q4_K { extern const void* const kernels[8]; }
namespace sm_100_matvec_q6_K { extern const void* const kernels[8]; }
namespace sm_100_matvec_q4_K_q6_K { extern const void* const kernels[8]; }
#endif

table sm_100() {
    table t;
    t.target = arch_named("sm_100");
    t.rows = rows;
    t.row_count = 56;
    t.chains = chains;
    t.chain_count = sizeof(chains) / sizeof(chains[0]);
#if CATENA_WITH_CUDA
    static const auto kernels = gather(
        sm_100_row::kernels,
        sm_100_matvec_q8_0::kernels,
        sm_100_matvec_q4_0::kernels,
        sm_100_matvec_q4_K::kernels,
        sm_100_matvec_q6_K::kernels,
        sm_100_matvec_q4_K_q6_K::kernels);
    static_assert(sizeof(kernels) / sizeof(void*) == sizeof(rows) / sizeof(row));
    t.kernels = kernels.data();
    t.launch = launch_cuda;
#endif
    return t;
}

}  // namespace catena::instances
