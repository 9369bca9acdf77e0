// How the generated CUDA kernels are made: a skeleton's body on the CUDA executor. Only the
// generated files of instances/<arch> include this.
#pragma once

#include "catena/exec/cuda.cuh"
#include "catena/kernel/matmul.hpp"
#include "catena/kernel/matvec.hpp"
#include "catena/kernel/row.hpp"

namespace catena::instances {

template <computation C, policy P>
__device__ __forceinline__ void run_on_device(const row_args& args) {
    exec::cuda x;
    kernel::row_body<exec::cuda, P, C>(x, args);
}

template <format_set Weights, policy P>
__device__ __forceinline__ void run_on_device(const matvec_args& args) {
    exec::cuda x;
    kernel::matvec_body<exec::cuda, P, Weights>(x, args);
}

template <format Layout, format_set Weights, policy P>
__device__ __forceinline__ void run_on_device(const matmul_args& args) {
    exec::cuda x;
    kernel::matmul_body<exec::cuda, P, Layout, Weights>(x, args);
}

}  // namespace catena::instances
