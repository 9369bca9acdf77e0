// wgmma.mma_async of 128 columns: 64 sums of a thread, one line of PTX each for f16 and bf16.
#pragma once

#include "catena/exec/operand.hpp"
#include "catena/exec/real.hpp"

namespace catena::exec::detail {

#define CATENA_SUMS(n) "+f"(s[n][0].v), "+f"(s[n][1].v), "+f"(s[n][2].v), "+f"(s[n][3].v)
#define CATENA_WGMMA(type)                                                                          \
    asm volatile(                                                                                   \
        "wgmma.mma_async.sync.aligned.m64n128k16.f32." type "." type                                \
        " {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15,"                   \
        " %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31,"          \
        " %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47,"          \
        " %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "        \
        "%64, %65, 1, 1, 1, 0, 0;"                                                                  \
        : CATENA_SUMS(0), CATENA_SUMS(1), CATENA_SUMS(2), CATENA_SUMS(3), CATENA_SUMS(4),           \
          CATENA_SUMS(5), CATENA_SUMS(6), CATENA_SUMS(7), CATENA_SUMS(8), CATENA_SUMS(9),           \
          CATENA_SUMS(10), CATENA_SUMS(11), CATENA_SUMS(12), CATENA_SUMS(13),                       \
          CATENA_SUMS(14), CATENA_SUMS(15)                                                          \
        : "l"(a.bits), "l"(b.bits)                                                                  \
        : "memory")

// The ones: add to the sums, neither operand negated; the zeros: neither transposed.
__device__ __forceinline__ void wgmma_f16(real (&s)[16][4], wgmma_operand a, wgmma_operand b) {
    CATENA_WGMMA("f16");
}
__device__ __forceinline__ void wgmma_bf16(real (&s)[16][4], wgmma_operand a, wgmma_operand b) {
    CATENA_WGMMA("bf16");
}
#undef CATENA_WGMMA
#undef CATENA_SUMS

}  // namespace catena::exec::detail
