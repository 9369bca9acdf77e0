// wgmma.mma_async of 128 columns, 64 sums of a thread, one line of PTX each for f16, bf16 and e4m3;
// of 64 columns, 32 sums, for e4m3.
#pragma once

#include "catena/exec/operand.hpp"
#include "catena/exec/real.hpp"

namespace CATENA_NAMESPACE::exec::detail {

#define CATENA_SUMS(is, n) is(s[n][0].v), is(s[n][1].v), is(s[n][2].v), is(s[n][3].v)
#define CATENA_WGMMA(shape_and_types, is, adds, transposed)                                        \
    asm volatile(                                                                                  \
        "wgmma.mma_async.sync.aligned." shape_and_types                                            \
        " {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15,"                  \
        " %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31,"         \
        " %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47,"         \
        " %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "       \
        "%64, %65, " adds ", 1, 1" transposed ";"                                                  \
        : CATENA_SUMS(is, 0), CATENA_SUMS(is, 1), CATENA_SUMS(is, 2), CATENA_SUMS(is, 3),          \
          CATENA_SUMS(is, 4), CATENA_SUMS(is, 5), CATENA_SUMS(is, 6), CATENA_SUMS(is, 7),          \
          CATENA_SUMS(is, 8), CATENA_SUMS(is, 9), CATENA_SUMS(is, 10), CATENA_SUMS(is, 11),        \
          CATENA_SUMS(is, 12), CATENA_SUMS(is, 13), CATENA_SUMS(is, 14), CATENA_SUMS(is, 15)       \
        : "l"(a.bits), "l"(b.bits)                                                                 \
        : "memory")

// Adds or not; the ones: neither operand negated; the zeros: neither transposed, as only 16 bits
// can be.
__device__ __forceinline__ void wgmma_f16(real (&s)[16][4], wgmma_operand a, wgmma_operand b) {
    CATENA_WGMMA("m64n128k16.f32.f16.f16", "+f", "1", ", 0, 0");
}
__device__ __forceinline__ void wgmma_bf16(real (&s)[16][4], wgmma_operand a, wgmma_operand b) {
    CATENA_WGMMA("m64n128k16.f32.bf16.bf16", "+f", "1", ", 0, 0");
}
__device__ __forceinline__ void wgmma_e4m3(real (&s)[16][4], wgmma_operand a, wgmma_operand b) {
    CATENA_WGMMA("m64n128k32.f32.e4m3.e4m3", "+f", "1", "");
}
__device__ __forceinline__ void wgmma_e4m3_alone(real (&s)[16][4], wgmma_operand a,
                                                 wgmma_operand b) {
    CATENA_WGMMA("m64n128k32.f32.e4m3.e4m3", "=f", "0", "");
}
#undef CATENA_WGMMA

#define CATENA_WGMMA_64(is, adds)                                                                  \
    asm volatile(                                                                                  \
        "wgmma.mma_async.sync.aligned.m64n64k32.f32.e4m3.e4m3"                                     \
        " {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15,"                  \
        " %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "       \
        "%32, %33, " adds ", 1, 1;"                                                                \
        : CATENA_SUMS(is, 0), CATENA_SUMS(is, 1), CATENA_SUMS(is, 2), CATENA_SUMS(is, 3),          \
          CATENA_SUMS(is, 4), CATENA_SUMS(is, 5), CATENA_SUMS(is, 6), CATENA_SUMS(is, 7)           \
        : "l"(a.bits), "l"(b.bits)                                                                 \
        : "memory")

__device__ __forceinline__ void wgmma_e4m3(real (&s)[8][4], wgmma_operand a, wgmma_operand b) {
    CATENA_WGMMA_64("+f", "1");
}
__device__ __forceinline__ void wgmma_e4m3_alone(real (&s)[8][4], wgmma_operand a,
                                                 wgmma_operand b) {
    CATENA_WGMMA_64("=f", "0");
}
#undef CATENA_WGMMA_64
#undef CATENA_SUMS

}  // namespace CATENA_NAMESPACE::exec::detail
