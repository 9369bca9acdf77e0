// Generated from generators/catalogue.hpp and generators/policies.cpp: do not edit, regenerate. Hash 6f5627769f662d74.
// The table of sm_80.
#include "catena/instances/sm_80.hpp"

#include "catena/instances/computations.hpp"
#if CATENA_WITH_CUDA
#include "catena/launch/cuda.cuh"
#endif

namespace CATENA_NAMESPACE::instances {

namespace {

constexpr row rows[] = {
#define CATENA_ROW CATENA_TABLE_ROW
#include "rows.inc"
#undef CATENA_ROW
};

constexpr lowered_chain chains[] = {
#include "../chains.inc"
};

}  // namespace

#if CATENA_WITH_CUDA
#define CATENA_ROW(...) CATENA_KERNEL_DECLARATION(sm_80, __VA_ARGS__)
#include "rows.inc"
#undef CATENA_ROW
#endif

table sm_80() {
    table t;
    t.target = arch_named("sm_80");
    t.rows = rows;
    t.row_count = sizeof(rows) / sizeof(rows[0]);
    t.chains = chains;
    t.chain_count = sizeof(chains) / sizeof(chains[0]);
#if CATENA_WITH_CUDA
    static const void* const kernels[] = {
#define CATENA_ROW(...) CATENA_KERNEL_ADDRESS(sm_80, __VA_ARGS__)
#include "rows.inc"
#undef CATENA_ROW
    };
    t.kernels = kernels;
    t.launch = launch_cuda;
#endif
    return t;
}

}  // namespace CATENA_NAMESPACE::instances
