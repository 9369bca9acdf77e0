// A kernel per skeleton and one that uses every operation of `real`, for tests that read what nvcc
// makes of them. EVERY_METHOD: one streaming kernel per copy method that the arch has, and one that
// uses both mma, and nothing else.
#include "catena/exec/cuda.cuh"
#include "catena/kernel/matvec.hpp"
#include "catena/kernel/row.hpp"

using namespace catena;

#if defined(EVERY_METHOD)

struct stream_args {
    const unsigned char* weights;
    float* sums;
    int pieces;
};

/// Sums bytes of each warp's pieces: a stream as a body uses it.
template <copy_method M, int Stages>
__device__ void stream_body(exec::cuda& x, const stream_args& a) {
    constexpr int piece = 4096;
    x.grid_trigger();
    auto* ring = x.shared<unsigned char>(x.warps() * Stages * piece) + x.warp() * Stages * piece;
    auto stream = x.stream<M, Stages>();
    const unsigned char* from =
        a.weights + static_cast<std::int64_t>(x.block() * x.warps() + x.warp()) * a.pieces * piece;
    const auto fill = [&](int stage, int i) {
        stream.begin(stage, piece);
        stream.copy(ring + stage * piece, from + static_cast<std::int64_t>(i) * piece, piece);
        stream.commit(stage);
    };
    for (int i = 0; i < Stages && i < a.pieces; ++i) fill(i, i);
    x.grid_wait();
    int sum = 0;
    for (int i = 0, stage = 0; i < a.pieces; ++i, stage = stage + 1 < Stages ? stage + 1 : 0) {
        stream.wait(stage);
        for (int at = x.lane() * 16; at < piece; at += 512) {
            const word4 v = x.load16(ring + stage * piece + at);
            sum = x.dp4a(static_cast<int>(v.x), static_cast<int>(v.y), sum);
            sum = x.dp4a(static_cast<int>(v.z), static_cast<int>(v.w), sum);
        }
        stream.release(stage);
        if (i + Stages < a.pieces) fill(stage, i + Stages);
    }
    for (int mask = 16; mask > 0; mask /= 2) sum += x.shuffle_xor(sum, mask);
    if (x.lane() == 0) x.store(a.sums + x.block() * x.warps() + x.warp(), from_int(sum));
}

#define STREAM_KERNEL(method)                                                                      \
    __global__ __launch_bounds__(256,                                                              \
                                 2) void stream_##method(const __grid_constant__ stream_args a) {  \
        exec::cuda x;                                                                              \
        stream_body<copy_method::method, 4>(x, a);                                                 \
    }

/// Both mma.
__global__ void mma_kernel(const unsigned* in, int* out) {
    exec::cuda x;
    const int lane = x.lane();
    const unsigned a[4] = {x.load(in + lane), x.load(in + 32 + lane), x.load(in + 64 + lane),
                           x.load(in + 96 + lane)};
    const unsigned half[2] = {a[0], a[1]};
    const unsigned b[2] = {x.load(in + 128 + lane), x.load(in + 160 + lane)};
    int d[4] = {};
    x.mma(d, a, b);
    x.mma(d, half, b[1]);
    for (int i = 0; i < 4; ++i) x.store(out + 4 * lane + i, d[i]);
}

STREAM_KERNEL(plain)
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
STREAM_KERNEL(async)
#endif
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
STREAM_KERNEL(bulk)
#endif

#if !defined(__CUDA_ARCH__) || defined(__CUDA_ARCH_FEAT_SM90_ALL)
/// All types of a warpgroup's.
__global__ void wgmma_kernel(float* out) {
    exec::cuda x;
    auto* shared = x.shared<unsigned>(8192);
    for (int i = x.thread(); i < 8192; i += x.threads()) x.store(shared + i, 0u);
    x.async_fence();
    x.sync();
    real sum[2][16][4] = {}, part[1][16][4];
    const exec::wgmma_operand a = x.operand_at(shared, 1024), b = x.operand_at(shared + 2048, 1024);
    x.wgmma_fence();
    x.wgmma<format::f16>(sum[0], a, b);
    x.wgmma<format::bf16>(sum[1], a + 32, b + 32);
    x.wgmma<format::fp8_e4m3, false>(part[0], a, b);
    x.wgmma<format::fp8_e4m3>(part[0], a + 32, b + 32);
    x.wgmma_commit();
    x.wgmma_wait<0>(sum);
    x.wgmma_wait<0>(part);
    CATENA_UNROLL
    for (int i = 0; i < 128; ++i)
        x.store(out + 128 * x.thread() + i,
                sum[i / 64][i / 4 % 16][i % 4] + part[0][i / 4 % 16][i % 4]);
}
#endif

#else

constexpr format_set row_emits = format_set::of(format::f32) | format::f16 | format::bf16 |
                                 format::q8_1 | format::q8_1_mmq_ds4 | format::int8_token |
                                 format::fp8_group | format::mxfp4_rows | format::nvfp4_rows;
constexpr row_computation row_norm{.stages = stage_kind::add_residual | stage_kind::layer_norm |
                                             stage_kind::mul_weight | stage_kind::add_bias,
                                   .emits = row_emits};
constexpr row_computation row_glu{.stages = stage_set::of(stage_kind::glu), .emits = row_emits};
constexpr row_policy of_norm{.threads = 256, .values = 16, .vector = true};
__global__ __launch_bounds__(of_norm.threads, of_norm.min_blocks) void row_kernel(
    const __grid_constant__ row_args a) {
    exec::cuda x;
    kernel::row_body<exec::cuda, of_norm, row_norm>(x, a);
}

constexpr row_policy of_glu{.threads = 256, .vector = true};
__global__ __launch_bounds__(of_glu.threads, of_glu.min_blocks) void glu_kernel(
    const __grid_constant__ row_args a) {
    exec::cuda x;
    kernel::row_body<exec::cuda, of_glu, row_glu>(x, a);
}

constexpr matvec_policy of_products{
    .threads = 128, .rows = 2, .columns = 2, .piece = 1024, .stages = 2};
constexpr format_set weights = format_set::of(format::q4_K) | format::q6_K;
__global__ __launch_bounds__(of_products.threads, of_products.min_blocks) void matvec_kernel(
    const __grid_constant__ matvec_args a) {
    exec::cuda x;
    kernel::matvec_body<exec::cuda, of_products, weights>(x, a);
}

__global__ void real_kernel(const float* in, float* out, int n) {
    exec::cuda x;
    const int i = x.block() * x.threads() + x.thread();
    if (i >= n) return;
    const real a = x.load(in + i), b = x.load(in + n + i);
    const real sum = (a + b) * a - b / a;
    const real mixed =
        fma(sum, a, sqrt(b)) + from_half(to_half(a)) + real{f32_from_bf16(to_bfloat16(b))};
    const real curved = exp(a) + tanh(a) * erf(b) + clamp(a, -b, b);
    x.store(out + i, curved + mixed + from_int(to_int(a)) + from_int(to_int8(b)) - abs(a));
}

#endif
