// What a kernel body may ask of the machine it runs on. A body is a function template over an
// executor X and takes `X& x`; exec/cuda.cuh is a GPU, exec/host.hpp any CPU. Blocks and grids have
// one dimension, a block has whole warps of 32 threads.
#pragma once

#include "catena/config.hpp"
#include "catena/exec/copy_method.hpp"
#include "catena/exec/operand.hpp"
#include "catena/exec/real.hpp"
#include "catena/format/format.hpp"

#include <cstdint>
#include <type_traits>

namespace CATENA_NAMESPACE {

/// 16 bytes, moved at once.
struct alignas(16) word4 {
    unsigned x, y, z, w;
};

/// One of the rows that a stream copies: as `copy`, or nothing if `bytes` is 0.
struct copied_row {
    void* to;
    const void* from;
    int bytes;
};

}  // namespace CATENA_NAMESPACE

namespace CATENA_NAMESPACE::exec {

/// The weight stream of one warp: `Stages` pieces of shared memory, filled and waited for in ring
/// order. Every lane makes every call, with the same arguments where nothing else is said, and
/// `x.stream()` too, which makes it ready: no other warp has to know of it.
template <class S>
concept weight_stream = requires(S s, int stage, int bytes, int lanes, void* dst, const void* src,
                                 copied_row (*row)(int)) {
    s.begin(stage, bytes);    // this fill's copies will bring `bytes` in all
    s.copy(dst, src, bytes);  // async, bulk: both ends and the size are multiples of 16; plain: any
    // Copies row(0) and row(1), of at most 64 bytes each, which are dealt to the lanes.
    s.template copy_rows<2, 64>(row);
    s.copy_own(dst, src, bytes);  // 16 aligned bytes, by async 4 too, or none: here arguments
                                  // differ from lane to lane
    s.commit(stage);              // no more copies for this fill
    s.fill(stage, dst, src, bytes, lanes);  // the same in one call, of a copy from each of the
                                            // first lanes: here arguments differ, 0 bytes: none;
                                            // of one or two lanes, the others bring the same in
                                            // turn, and none brings nothing
    s.wait(stage);     // from here every lane may read the stage; orders the lanes, as sync_warp
    s.release(stage);  // every lane has read it, it may be filled again; orders the lanes too
    s.reuse();         // stores to stages, all before a sync, stand before the copies that follow
};

/// The executor. `shared<T>(n)` hands out dynamic shared memory, 16-byte aligned, the first array
/// at a multiple of 1024: every thread asks for the same arrays in the same sequence. A shuffle
/// exchanges values but does not order memory: sync_warp does. In a dependent launch only weights
/// may be read before `grid_wait`, and nothing written.
///
/// mma(d, a, b) is the warp's d += a * b of signed bytes, exact and wrapping: a of 16 rows by 32
/// (a[4], b[2]) or 16 (a[2], b) of K, b of 8 columns. Every lane makes the call. A word holds four
/// values next to each other in K; with g = lane / 4 and t = lane % 4, lane by lane
///     a[0], a[1]: rows g and g + 8, K from 4t    a[2], a[3]: the same rows, K from 16 + 4t
///     b[0] (b):   column g, K from 4t            b[1]:       column g, K from 16 + 4t
///     d[0], d[1]: row g, columns 2t and 2t + 1   d[2], d[3]: row g + 8
/// as the PTX ISA lays out mma.m16n8k32 and m16n8k16.
///
/// mma<F>(d, a, b) is the same of numbers, with sums in f32. F: f16, bf16, f32 (as tf32: the last
/// 13 bits do not count) or fp8_e4m3; a word holds as many as fit, so K is 16, 16, 8 or 32, and
/// every fragment lies as above. Hardware adds in an order and with a precision of its own; the
/// host's model: products are exact, their sum in the sequence of K is one in double, and that plus
/// d is rounded once to f32.
///
/// load_matrices(v, row) is ldmatrix: row(lane), equal in all lanes, says where row lane % 8 of
/// matrix lane / 8 lies, 16 aligned bytes; v[i] becomes word t of row g of matrix i.
///
/// wgmma<F>(sum, a, b) is a warpgroup's sum += a * b of f16, bf16 or fp8_e4m3, on sm_90a: 64 rows,
/// 8 columns for each sum[n], 32 bytes of K; wgmma<F, false> is sum = a * b. Warp w of the four has
/// rows 16 w on, in sum[n] as d of an mma above. Both operands lie in shared memory
/// (exec/operand.hpp) and are named by x.operand_at(p, stride). The tensor cores read them, and add
/// to the sums, in their own time: until `wgmma_wait<Left>(sum)` has said that all groups of
/// multiplications but the last `Left` are done, operands are not written and sums not touched, but
/// by another wgmma. `wgmma_commit` ends a group. A `wgmma_fence` stands before the first wgmma,
/// and before the next that follows a wait. What threads store or copy to an operand is seen after
/// `async_fence` in the thread that did and a sync. All threads of the four warps make the same
/// calls. (wgmma.mma_async, .fence, .commit_group, .wait_group, fence.proxy.async in the PTX ISA.)
/// The host's model of sums is that of mma<F>.
///
/// Blocks of a cluster run at the same time, cluster_blocks() of them next to each other in the
/// grid: block() = cluster() * cluster_blocks() + cluster_rank(). All threads of all of them meet
/// at cluster_sync(), as at sync(), and at cluster_meet(), which orders no memory: behind it the
/// other blocks are known to run, and no more. store_first(p, v) stores to the place that p, in
/// shared memory, has in the cluster's first block; every thread has passed one of the two before
/// it, and the first block reads it after the next cluster_sync(). A launch without clusters has
/// clusters of one block.
///
/// `prefetch(p)` brings the line of global memory that holds p nearer; it reads nothing, so it may
/// stand before `grid_wait`.
///
/// `halves_of_e4m3(pair)`, which an executor may have: two f16 of the two e4m3 in a word's low
/// half.
///
/// `permute(low, high, pick)`: nibble n of `pick` says which byte of (high:low) becomes byte n;
/// with its bit 3 set, the sign of that byte fills byte n.
template <class X>
concept executor = requires(X x, int i, unsigned u, real r, float* f, const float* cf,
                            std::uint16_t* h, const word4* cw, word4* w, word4 v, int (&d)[4],
                            const unsigned (&a4)[4], const unsigned (&a2)[2], real (&r4)[4],
                            unsigned (&u4)[4], const void* (*row)(int), real (&tile)[1][16][4],
                            wgmma_operand o) {
    i = x.thread(), i = x.lane(), i = x.warp(), i = x.threads(), i = x.warps(), i = x.block();
    i = x.cluster(), i = x.cluster_rank(), i = x.cluster_blocks();
    x.sync(), x.sync_warp(), x.cluster_sync(), x.cluster_meet();
    r = x.shuffle_xor(r, i), i = x.shuffle_xor(i, i), u = x.shuffle_xor(u, i);
    r = x.shuffle(r, i), i = x.shuffle(i, i);  // the value of lane i, which may differ
    f = x.template shared<float>(i);
    r = x.load(cf), x.store(f, r), x.store_first(f, r);
    u = x.load(h), x.store(h, std::uint16_t{});  // any scalar of 1, 2, 4 or 8 bytes
    v = x.load16(cw), x.store16(w, v);           // any pointer to 16 aligned bytes
    x.prefetch(cf);                              // below
    i = x.dp4a(i, i, i);                         // c + four products of signed bytes
    u = x.funnel(u, u, u);                       // (hi:lo) >> (bits % 32), low word
    u = x.permute(u, u, u);                      // prmt, below
    x.mma(d, a4, a2), x.mma(d, a2, u);           // below
    x.template mma<format::f16>(r4, a4, a2), x.load_matrices(u4, row);
    o = x.operand_at(f, i), x.async_fence(), x.wgmma_fence(), x.wgmma_commit();
    x.template wgmma<format::f16>(tile[0], o, o), x.template wgmma_wait<0>(tile);
    x.template wgmma<format::fp8_e4m3, false>(tile[0], o, o);
    x.grid_wait(), x.grid_trigger();
    requires weight_stream<decltype(x.template stream<copy_method::plain, 2>())>;
};

/// An executor as a called function takes it: one that is a value is not given an address.
template <class X>
using by_call = std::conditional_t<std::is_copy_constructible_v<X>, X, X&>;

}  // namespace CATENA_NAMESPACE::exec
