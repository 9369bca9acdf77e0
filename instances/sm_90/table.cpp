// Generated from generators/catalogue.hpp and generators/policies.cpp: do not edit, regenerate. Hash 4493a3d7d7551767.
// The table of sm_90.
#include "catena/instances/sm_90.hpp"

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

namespace {

constexpr engine_verdict verdicts[] = {
    {format_set{} | format::q4_K | format::q6_K, 17, 32, 0.930000f,
     "bench/results/llama.h100.2026-11-26.json"},
    {format_set{} | format::q4_K | format::q6_K, 17, 32, 0.920000f,
     "bench/results/llama.h200.2026-11-26.json"},
};

}  // namespace

#if CATENA_WITH_CUDA
#define CATENA_ROW(...) CATENA_KERNEL_DECLARATION(sm_90, __VA_ARGS__)
#include "rows.inc"
#undef CATENA_ROW
#endif

table sm_90() {
    table t;
    t.target = arch_named("sm_90");
    t.rows = rows;
    t.row_count = sizeof(rows) / sizeof(rows[0]);
    t.verdicts = verdicts;
    t.verdict_count = 2;
    t.chains = chains;
    t.chain_count = sizeof(chains) / sizeof(chains[0]);
#if CATENA_WITH_CUDA
    static const void* const kernels[] = {
#define CATENA_ROW(...) CATENA_KERNEL_ADDRESS(sm_90, __VA_ARGS__)
#include "rows.inc"
#undef CATENA_ROW
    };
    t.kernels = kernels;
    t.launch = launch_cuda;
#endif
    return t;
}

}  // namespace CATENA_NAMESPACE::instances
