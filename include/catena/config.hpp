// What every header of Catena may rely on: the marker of functions that run on both executors.
#pragma once

#if defined(__CUDACC__)
#define CATENA_FN __host__ __device__ __forceinline__
#else
#define CATENA_FN inline
#endif

// A function that a kernel calls: where inlining would take more registers than the call costs
// time.
#if defined(__CUDACC__)
#define CATENA_NO_INLINE inline __host__ __device__ __noinline__
#else
#define CATENA_NO_INLINE inline
#endif

// Loops over register arrays must be unrolled on a GPU, long loops of kernel bodies must not. A
// host compiler is left to its own judgment.
#if defined(__CUDACC__)
#define CATENA_UNROLL _Pragma("unroll")
#define CATENA_NO_UNROLL _Pragma("unroll 1")
#else
#define CATENA_UNROLL
#define CATENA_NO_UNROLL
#endif

// What planning is made of: inline as all else, or compiled once, in the library catena::planner.
#if defined(CATENA_SEPARATE_COMPILATION)
#define CATENA_PLANNING
#else
#define CATENA_PLANNING inline
#endif
