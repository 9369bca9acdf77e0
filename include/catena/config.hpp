// What every header of Catena may rely on: the marker of functions that run on both executors.
#pragma once

#if defined(__CUDACC__)
#define CATENA_FN __host__ __device__ __forceinline__
#else
#define CATENA_FN inline
#endif
