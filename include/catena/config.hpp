// What every header of Catena may rely on: the namespace of this version, and the markers of
// functions that run on both executors.
#pragma once

// Two shared objects of one process may have been compiled with two versions of these headers.
// Their symbols differ by the version, so that neither takes the other's tables for its own.
#define CATENA_HEADERS_VERSION "0.1.0"  // the project's, in CMakeLists.txt
namespace catena {
inline namespace v0_1_0 {
/// The version of these headers.
inline constexpr char headers_version[] = CATENA_HEADERS_VERSION;
}  // namespace v0_1_0
}  // namespace catena
#define CATENA_NAMESPACE catena::v0_1_0
// Nor do two states of one version share the table that gives formats their sizes: GCC would give
// all shared objects that of the first one.
#if defined(__GNUC__)
#define CATENA_OWN_TABLE __attribute__((visibility("hidden")))
#else
#define CATENA_OWN_TABLE
#endif
#if defined(__clang__)  // C++17 has no `inline` inside a nested name
#pragma clang diagnostic ignored "-Winline-namespace-reopened-noninline"
#endif

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
