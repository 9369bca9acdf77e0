// What a kernel body may ask of the machine that it runs on. A body is a function template over an
// executor X and takes `X& x`. exec/cuda.cuh is the executor of a GPU, exec/host.hpp that of any
// CPU. Blocks and grids have one dimension, and a block has whole warps of 32 threads. Sizes of
// copies and strides are bytes, all other sizes count elements. No pointer may be null.
#pragma once

#include "catena/config.hpp"
#include "catena/exec/copy_method.hpp"
#include "catena/exec/operand.hpp"
#include "catena/exec/real.hpp"
#include "catena/format/format.hpp"

#include <cstdint>
#include <type_traits>

namespace CATENA_NAMESPACE {

/// Sixteen bytes that one instruction loads or stores.
struct alignas(16) word4 {
    unsigned x, y, z, w;
};

/// A row that a weight stream copies. What `copy` says of both ends and of the size holds here too.
struct copied_row {
    void* to;          ///< destination in shared memory
    const void* from;  ///< source in global memory
    int bytes;         ///< size, 0: nothing is copied
};

/// The rows that one call fills a stage with.
struct filled_rows {
    int count;
    int pitch;   ///< bytes from one row's place in the stage to the next one's
    bool alike;  ///< they have as many bytes each
};

}  // namespace CATENA_NAMESPACE

namespace CATENA_NAMESPACE::exec {

/// The weight stream of one warp: a ring of `Stages` pieces of shared memory. Stages are filled and
/// waited for in ring order. All lanes make every call together, with equal arguments unless a
/// function below says otherwise. That includes `x.stream()`, which makes the stream ready. A
/// stream belongs to its warp alone: no other warp synchronizes with it.
///
/// A fill is begin, copies and commit, or one call of `fill`:
/// - begin(stage, bytes) starts the fill of a stage. The copies will bring `bytes` in all.
/// - copy(to, from, bytes) copies from global to shared memory. For copy_method::async and bulk,
///   both addresses and the size are multiples of 16; for plain they may be any number.
/// - copy_rows<Rows, Most>(row) copies row(0) .. row(Rows - 1), of at most `Most` bytes each. The
///   rows are dealt to the lanes.
/// - copy_own(to, from, bytes) makes one copy for each lane, so arguments differ from lane to lane:
///   16 aligned bytes, by copy_method::async 4 bytes too, or 0 bytes for no copy.
/// - commit(stage) ends the fill.
/// - fill<Rows>(stage, to, from, bytes) is a whole fill: a copy for each of Rows.count rows, which
///   the first lanes bring: `from` and `bytes` are those of the lane's row, and other lanes repeat
///   these in turn. Row r goes to `to` + r * Rows.pitch. For copy_method::plain `to` may differ,
///   too.
///
/// Reading a stage:
/// - wait(stage) returns when the fill is complete. Every lane may then read the stage. It orders
///   the memory of the lanes, as sync_warp does.
/// - release(stage) says that every lane has read the stage, which may then be filled again. It
///   orders the memory of the lanes, too.
/// - reuse() puts stores to stages, made before the last sync, in front of the copies that follow.
template <class S>
concept weight_stream = requires(S s, int stage, int bytes, void* dst, const void* src,
                                 copied_row (*row)(int)) {
    s.begin(stage, bytes);
    s.copy(dst, src, bytes);
    s.template copy_rows<2, 64>(row);
    s.copy_own(dst, src, bytes);
    s.commit(stage);
    s.template fill<filled_rows{2, 64, true}>(stage, dst, src, bytes);
    s.wait(stage);
    s.release(stage);
    s.reuse();
};

/// The executor. All threads of a warp make a call together unless the text below says otherwise.
///
/// **Place.** thread() and warp() are numbers in the block, lane() is the thread's number in its
/// warp, and block() is the block's number in the grid. threads() and warps() are how many a block
/// has. A thread may call these functions alone.
///
/// **Barriers.** sync() is the barrier of the block and sync_warp() that of the warp. Both order
/// memory. sync_any(b) is a sync() that says whether b is true in any thread.
///
/// **Shuffles.** shuffle_xor(v, mask) is the v of lane `lane() ^ mask`. shuffle(v, i) is the v of
/// lane i, and i may differ from lane to lane. A shuffle exchanges values but does not order
/// memory.
///
/// **Memory.** A thread may call these functions alone.
/// - shared<T>(n) is an array of n elements of dynamic shared memory, 16-byte aligned; the first
///   array is aligned to 1024 bytes. Every thread asks for the same arrays in the same sequence.
/// - load(p) and store(p, v) move a scalar of 1, 2, 4 or 8 bytes; f32 is loaded as `real`.
/// - load16(p) and store16(p, v) move 16 aligned bytes.
/// - prefetch(p) asks for the cache line of global memory that holds p. It reads nothing, so a body
///   may call it before grid_wait.
///
/// **Bits.** A thread may call these functions alone.
/// - dp4a(a, b, c) is c plus the four products of the bytes of a and b. Those of b are signed, and
///   those of a if it is an int.
/// - funnel(lo, hi, bits) is the low word of (hi:lo) >> (bits % 32).
/// - funnel_up(lo, hi, bits) is the high word of (hi:lo) << (bits % 32).
/// - permute(low, high, pick) picks four bytes of (high:low). Nibble n of `pick` is the number of
///   the byte that becomes byte n. If bit 3 of the nibble is set, the sign of that byte fills byte
///   n.
/// - halves_of_e4m3(pair), which an executor may have or not, converts the two e4m3 in the low half
///   of a word to two f16.
///
/// **mma(d, a, b)** is the warp's d += a * b of signed bytes, exact and wrapping: a has 16 rows, b
/// has 8 columns, and K is 32 (a[4], b[2]) or 16 (a[2], b). A word holds four values next to each
/// other in K. With g = lane / 4 and t = lane % 4, a lane has
///     a[0], a[1]: rows g and g + 8, K from 4t    a[2], a[3]: the same rows, K from 16 + 4t
///     b[0] (b):   column g, K from 4t            b[1]:       column g, K from 16 + 4t
///     d[0], d[1]: row g, columns 2t and 2t + 1   d[2], d[3]: row g + 8
/// as the PTX ISA lays out mma.m16n8k32 and m16n8k16.
///
/// **mma<F>(d, a, b)** multiplies floats and adds in f32. F is f16, bf16, f32 (as tf32: the last 13
/// bits do not count) or fp8_e4m3. A word holds as many values as fit, so K is 16, 16, 8 or 32, and
/// fragments lie as above. Hardware adds in an order and with a precision of its own. The host's
/// model: products are exact, their sum in the sequence of K is a double, and that sum plus d is
/// rounded once to f32.
///
/// **load_matrices(v, row)** is ldmatrix. row(lane) is the address of row lane % 8 of matrix lane /
/// 8, 16 aligned bytes of shared memory; it is a function that is equal in all lanes. v[i] becomes
/// word t of row g of matrix i.
///
/// **wgmma<F>(sum, a, b)** is a warpgroup's sum += a * b of f16, bf16 or fp8_e4m3 on sm_90a. It has
/// 64 rows, 8 columns for each sum[n], and 32 bytes of K. wgmma<F, false> is sum = a * b. Warp w of
/// the four has rows 16 w .. 16 w + 15, in sum[n] as in d of an mma. All threads of the four warps
/// make the same calls.
/// - operand_at(p, stride) names an operand in shared memory; exec/operand.hpp has its layout.
/// - wgmma_fence() stands before the first wgmma, and before the first one behind a wait.
/// - wgmma_commit() ends a group of multiplications.
/// - wgmma_wait<Left>(sum) returns when all groups but the last `Left` are done. The tensor cores
///   read operands and add to sums on their own. Until the wait returns, no thread writes the
///   operands, and only another wgmma touches the sums.
/// - async_fence() is called by a thread that has stored or copied to an operand. It stands before
///   the sync behind which wgmma reads that operand: without it the tensor cores may read what was
///   there before.
/// The PTX ISA calls these wgmma.mma_async, .fence, .commit_group, .wait_group and
/// fence.proxy.async. The host's model of sums is that of mma<F>.
///
/// **Clusters.** Blocks of a cluster run at the same time: cluster_blocks() blocks that are next to
/// each other in the grid, so block() = cluster() * cluster_blocks() + cluster_rank(). A launch
/// without clusters has clusters of one block.
/// - cluster_sync() is a barrier of all threads of the cluster, which orders memory.
/// - cluster_meet() is such a barrier, but it does not order memory. Behind it the other blocks are
///   known to run.
/// - store_first(p, v) stores v at p, an address in shared memory, of the cluster's first block. A
///   thread may call it alone. Every thread has passed one of the two barriers before. The first
///   block reads v behind the next cluster_sync().
///
/// **Dependent launches.** grid_wait() returns when the kernel before this one has completed.
/// Before it a body reads weights alone, and writes nothing. grid_trigger() lets the next kernel
/// start. stream<Method, Stages>() makes a weight_stream.
template <class X>
concept executor = requires(X x, int i, unsigned u, real r, float* f, const float* cf,
                            std::uint16_t* h, const word4* cw, word4* w, word4 v, int (&d)[4],
                            const unsigned (&a4)[4], const unsigned (&a2)[2], real (&r4)[4],
                            unsigned (&u4)[4], const void* (*row)(int), real (&tile)[1][16][4],
                            wgmma_operand o) {
    i = x.thread(), i = x.lane(), i = x.warp(), i = x.threads(), i = x.warps(), i = x.block();
    i = x.blocks(), i = x.cluster(), i = x.cluster_rank(), i = x.cluster_blocks();
    x.sync(), x.sync_warp(), x.cluster_sync(), x.cluster_meet();
    { x.sync_any(true) } -> std::same_as<bool>;
    r = x.shuffle_xor(r, i), i = x.shuffle_xor(i, i), u = x.shuffle_xor(u, i);
    r = x.shuffle(r, i), i = x.shuffle(i, i);
    f = x.template shared<float>(i);
    r = x.load(cf), x.store(f, r), x.store_first(f, r);
    u = x.load(h), x.store(h, std::uint16_t{});
    v = x.load16(cw), x.store16(w, v);
    x.prefetch(cf);
    i = x.dp4a(i, i, i), i = x.dp4a(u, i, i);
    u = x.funnel(u, u, u), u = x.funnel_up(u, u, u);
    u = x.permute(u, u, u);
    x.mma(d, a4, a2), x.mma(d, a2, u);
    x.template mma<format::f16>(r4, a4, a2), x.load_matrices(u4, row);
    o = x.operand_at(f, i), x.async_fence(), x.wgmma_fence(), x.wgmma_commit();
    x.template wgmma<format::f16>(tile[0], o, o), x.template wgmma_wait<0>(tile);
    x.template wgmma<format::fp8_e4m3, false>(tile[0], o, o);
    x.grid_wait(), x.grid_trigger();
    requires weight_stream<decltype(x.template stream<copy_method::plain, 2>())>;
};

/// The parameter type of an executor in a function that is called, not inlined: a copy if an
/// executor can be copied, so that its address is not taken, else a reference.
template <class X>
using by_call = std::conditional_t<std::is_copy_constructible_v<X>, X, X&>;

}  // namespace CATENA_NAMESPACE::exec
