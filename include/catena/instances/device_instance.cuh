// How the build's .cu files make kernels of rows: a skeleton's body on the CUDA executor. Files
// that the build writes include this.
#pragma once

#include "catena/exec/cuda.cuh"
#include "catena/instances/rows.hpp"
#include "catena/kernel/heads.hpp"
#include "catena/kernel/matmul.hpp"
#include "catena/kernel/matvec.hpp"
#include "catena/kernel/route.hpp"
#include "catena/kernel/row.hpp"

#if defined(CATENA_PHASES)
#include "catena/instances/phases.cuh"
#endif

namespace CATENA_NAMESPACE::instances {

template <row_computation C, row_policy P, class Ops>
__device__ __forceinline__ void run_on_device(const row_args& args) {
    executor_of<C.own, exec::cuda, Ops> x;
    kernel::row_body<decltype(x), P, C>(x, args);
}

template <row_computation C, row_policy P, class Ops>
__device__ __forceinline__ void run_on_device(const heads_args& args) {
    exec::cuda x;
    kernel::heads_body<exec::cuda, P, C>(x, args);
}

template <row_computation C, row_policy P, class Ops>
__device__ __forceinline__ void run_on_device(const route_args& args) {
    exec::cuda x;
    kernel::route_body<exec::cuda, P, C>(x, args);
}

template <product_computation C, matvec_policy P, class Ops>
__device__ __forceinline__ void run_on_device(const matvec_args& args) {
    executor_of<C.own, exec::cuda, Ops> x;
    kernel::matvec_body<decltype(x), P, C.weights>(x, args);
}

#if defined(CATENA_PHASES)
template <product_computation C, matvec_policy P, class Ops, std::uint64_t Name>
__device__ __forceinline__ void run_timed(const matvec_args& args) {
    timed<executor_of<C.own, exec::cuda, Ops>> x;
    kernel::matvec_body<decltype(x), P, C.weights>(x, args);
    x.write(Name, args);
}
#endif

template <product_computation C, matmul_policy P, class Ops>
__device__ __forceinline__ void run_on_device(const matmul_args& args) {
    executor_of<C.own, exec::cuda, Ops> x;
    kernel::matmul_body<decltype(x), P, C.activation, C.weights>(x, args);
}

/// The launch bounds. A block of a matvec may have the warps of as many as the policy promises
/// (share_of). The registers are the same; without the 1 ptxas keeps to fewer, and spills.
constexpr int bound_threads(const matvec_policy& p) { return p.threads * p.min_blocks; }
constexpr int bound_blocks(const matvec_policy&) { return 1; }
template <class Policy>
constexpr int bound_threads(const Policy& p) {
    return p.threads;
}
template <class Policy>
constexpr int bound_blocks(const Policy& p) {
    return p.min_blocks;
}

/// What a kernel runs. With CATENA_PHASES all kernels of the file are matvecs, and their names are
/// entered.
#if defined(CATENA_PHASES)
#define CATENA_RUN(symbol, computes, how)                                                          \
    ::catena::instances::run_timed<computations::computes, policy_of_##computes##_##how, ops,      \
                                   ::catena::instances::number_of(#symbol)>
#else
#define CATENA_TIMED_KERNEL(symbol)
#define CATENA_RUN(symbol, computes, how)                                                          \
    ::catena::instances::run_on_device<computations::computes, policy_of_##computes##_##how, ops>
#endif

/// The kernel of a row; its symbol is the row's name, as profilers and ptxas show it.
#define CATENA_KERNEL(arch, launch, formats, how, computes)                                        \
    constexpr auto policy_of_##computes##_##how =                                                  \
        ::catena::policy_named<computations::computes.kind>(#how).value();                         \
    extern "C" __global__ __launch_bounds__(                                                       \
        ::catena::instances::bound_threads(policy_of_##computes##_##how),                          \
        ::catena::instances::bound_blocks(policy_of_##computes##_##how)) void                      \
        catena_##launch##_##formats##_##how##_##arch(                                              \
            const __grid_constant__ ::catena::instances::kernel_args<computations::computes>       \
                args) {                                                                            \
        CATENA_RUN(catena_##launch##_##formats##_##how##_##arch, computes, how)(args);             \
    }                                                                                              \
    CATENA_TIMED_KERNEL(catena_##launch##_##formats##_##how##_##arch)

}  // namespace CATENA_NAMESPACE::instances
