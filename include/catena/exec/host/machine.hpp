// The machine that a block runs on: its memories, its clock and its threads, and everything that
// can be found wrong with an access or a meeting. The executor's calls (exec/host/thread.hpp) come
// here.
#pragma once

#include "catena/exec/host/memory.hpp"
#include "catena/exec/host/scheduler.hpp"
#include "catena/exec/host/shared.hpp"
#include "catena/exec/host/stream_log.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace catena::exec {

class machine {
  public:
    enum class access : std::uint8_t { read, write };

    global_memory global;
    std::vector<finding> findings;

    // ---- the run of a launch, block by block ----

    void begin_launch(std::string kernel, int threads, std::size_t shared_bytes, bool dependent,
                      int cluster_blocks = 1) {
        if (era_ >= stamps::max_era) {
            global.renumber();
            era_ = 0;
        }
        kernel_ = std::move(kernel);
        thread_count_ = threads;
        dependent_ = dependent;
        cluster_blocks_ = cluster_blocks;
        shared_.reset(shared_bytes);
        shared_view_ = shared_.shadow();
        begins_.clear();
        letters_.clear();
        global_now_.oldest = stamps::before_all_launches;
        global_now_.launch = stamps::floor(era_ + 1);
    }

    /// False: a finding was added.
    bool run_block(std::uint32_t block, const order_seed& seed, fiber_stacks::entry entry,
                   void* owner) {
        block_ = block;
        begins_.push_back({++era_, block});
        global_now_.block = global_now_.era = stamps::floor(era_);
        shared_now_ = {global_now_.block, global_now_.block, global_now_.block, global_now_.block};
        grid_waited_ = all_past_grid_wait_ = !dependent_;
        streams_.clear();
        wgmma_warps_.assign(static_cast<std::size_t>(thread_count_ / scheduler::warp_lanes), {});
        wgmma_calls_.assign(wgmma_warps_.size() / 4, {});
        cluster_syncs_ = 0;
        const std::size_t before = findings.size();
        scheduler_.run(thread_count_, seed, entry, owner);
        if (findings.size() != before) return false;
        if (!scheduler_.all_returned()) return report_deadlock();
        return check_end();
    }

    /// First thing on a thread's fiber.
    thread& enter() {
        thread& t = scheduler_.running();
        refresh(t);
        return t;
    }
    [[noreturn]] void leave(thread& t) { scheduler_.finish(t); }

    int threads() const { return thread_count_; }
    int block() const { return static_cast<int>(block_); }
    int cluster_blocks() const { return cluster_blocks_; }

    // ---- meetings ----

    void sync(thread& t, site at) {
        sync(t, at, [] {});
    }
    /// `last` runs in the last thread to come.
    template <class Last>
    void sync(thread& t, site at, Last&& last) {
        const thread* first = scheduler_.first_at_sync();
        if (first != nullptr && !same(first->at, at))
            stop(t, fault::divergence, at,
                 "waits at a sync where thread " + std::to_string(first->id) +
                     " waits at another one (" + spell(first->at) +
                     "): all threads of a block must reach the same sync");
        if (scheduler_.meet_block(t, at)) {
            last();
            global_now_.era = stamps::floor(++era_);
            shared_now_.era = global_now_.era;
            for (auto& warp : scheduler_.warps()) warp.step = 0;
            all_past_grid_wait_ = grid_waited_;
        }
        refresh(t);
    }

    /// A block of a cluster runs when those behind it have: what they stored in the first arrives
    /// when the first comes to the meeting that follows.
    void cluster_sync(thread& t, site at) {
        sync(t, at, [&] { deliver(t, ++cluster_syncs_); });
    }
    void store_first(thread& t, float* p, real v, site at);

    /// A meeting of the warp that orders its memory accesses. `last` runs in the last lane to come.
    template <class Last>
    void sync_warp(thread& t, meeting what, int detail, site at, Last&& last) {
        check_meeting(t, what, detail, at);
        if (scheduler_.meet_warp(t, what, detail, at)) {
            last();
            auto& warp = scheduler_.warp_of(t);
            if (++warp.step > stamps::max_step)
                stop(t, fault::body, at,
                     "passes its millionth warp barrier since the block's last "
                     "sync: races can no longer be told apart, sync now and then");
        }
        refresh(t);
    }

    std::uint32_t shuffle_xor(thread& t, std::uint32_t value, int mask, site at) {
        if (mask <= 0 || mask >= scheduler::warp_lanes)
            stop(t, fault::body, at,
                 "shuffles by mask " + std::to_string(mask) + ": a mask lies between 1 and 31");
        check_meeting(t, meeting::shuffle, mask, at);
        auto& warp = scheduler_.warp_of(t);
        auto& values = warp.values[warp.round & 1];
        const int lane = t.id % scheduler::warp_lanes;
        values[lane] = value;
        scheduler_.meet_warp(t, meeting::shuffle, mask, at);
        return values[lane ^ mask];
    }

    std::uint32_t shuffle(thread& t, std::uint32_t value, int from, site at) {
        if (from < 0 || from >= scheduler::warp_lanes)
            stop(t, fault::body, at,
                 "shuffles from lane " + std::to_string(from) + ": lanes are 0 to 31");
        check_meeting(t, meeting::shuffle_from, 0, at);
        auto& warp = scheduler_.warp_of(t);
        auto& values = warp.values[warp.round & 1];
        values[t.id % scheduler::warp_lanes] = value;
        scheduler_.meet_warp(t, meeting::shuffle_from, 0, at);
        return values[from];
    }

    /// The lane's part of d += a * b, K = 16 * Steps.
    template <int Steps>
    void mma(thread& t, int (&d)[4], const unsigned* a, const unsigned* b, site at) {
        check_meeting(t, meeting::mma, 16 * Steps, at);
        auto& warp = scheduler_.warp_of(t);
        auto& operands = warp.operands[warp.round & 1];
        const int lane = t.id % scheduler::warp_lanes;
        operands.put<Steps>(lane, a, b);
        scheduler_.meet_warp(t, meeting::mma, 16 * Steps, at);
        operands.add_product<Steps>(lane, d);
    }

    /// An mma of floats, with 32 bytes of K.
    template <format F>
    void mma_of(thread& t, real (&d)[4], const unsigned* a, const unsigned* b, site at) {
        const int detail = mma_detail(F);
        check_meeting(t, meeting::mma, detail, at);
        auto& warp = scheduler_.warp_of(t);
        auto& operands = warp.operands[warp.round & 1];
        const int lane = t.id % scheduler::warp_lanes;
        operands.put<2>(lane, a, b);
        scheduler_.meet_warp(t, meeting::mma, detail, at);
        operands.add_product_of<F>(lane, d);
    }

    // ---- warpgroup multiplication ----

    wgmma_operand operand_at(thread& t, const void* p, int stride, site at);
    void async_fence(thread& t) { t.async_fence = t.now; }
    template <format F>
    void wgmma(thread& t, real* sums, int columns, bool adds, wgmma_operand a, wgmma_operand b,
               site at);
    void wgmma_wait(thread& t, int left, site at);

    void grid_wait(thread& t) { grid_waited_ = t.past_grid_wait = true; }

    // ---- memory ----

    std::byte* shared(thread& t, std::size_t bytes, site at) {
        std::string problem;
        std::byte* array = shared_.array_of(t.shared_calls++, bytes, problem);
        if (array == nullptr) stop(t, fault::shared_memory, at, problem);
        return array;
    }

    /// An aligned access of 1, 2, 4, 8 or 16 bytes by a thread.
    template <access A, std::size_t Bytes>
    void check(thread& t, const void* p, site at) {
        const auto address = reinterpret_cast<std::uintptr_t>(p);
        if (address % Bytes == 0) {
            if (shared_.holds(address)) {
                if (quick<A, Bytes>(shared_view_, address, t.now, shared_now_)) return;
            } else if (t.past_grid_wait) {
                const auto& w = global.recent(address);
                if (address >= w.begin && address + Bytes <= w.end) {
                    if (w.shadow.cells == nullptr
                            ? A == access::read
                            : quick<A, Bytes>(w.shadow, address, t.now, global_now_))
                        return;
                }
            }
        } else {
            stop_at(
                t, fault::misaligned, at, A, address, Bytes,
                "an address that is not a multiple of the size: align it, or use smaller accesses");
        }
        check_range(t, A, address, Bytes, at, t.now);
    }

    /// Any access, of any size. A write leaves `mark`.
    void check_range(thread& t, access a, std::uintptr_t address, std::size_t bytes, site at,
                     stamp mark);
    /// The range of global memory that holds all of it.
    const global_memory::range* check_declared(thread& t, access a, std::uintptr_t address,
                                               std::size_t bytes, site at);

    // ---- weight streams ----

    /// The log of the next stream of t's warp; the first lane to ask makes it.
    stream_log& open_stream(thread& t, copy_method method, int stages, site at);
    void stream_begin_copy_commit(thread& t, stream_log& log, const stream_call& call, site at);
    void stream_apply(thread& t, stream_log& log, const stream_call& call, site at);
    void stream_fill(thread& t, stream_log& log, int stage, const stream_call& mine, int lanes,
                     site at);
    void stream_copy_own(thread& t, stream_log& log, const stream_call& mine, site at);
    void stream_wait(thread& t, stream_log& log, int stage, site at);
    void stream_release(thread& t, stream_log& log, int stage, site at);

    // ---- findings ----

    /// Records what thread `t` did wrong and ends the block. `what` continues "block 3, thread 17
    /// ".
    [[noreturn]] void stop(thread& t, fault kind, site at, const std::string& what) {
        add({kind, kernel_, static_cast<std::int64_t>(block_), t.id, at, 0, {}, 0, {}}, what);
        scheduler_.abandon(t);
    }

  private:
    struct begin {
        std::uint32_t era, block;
    };

    template <access A, std::size_t Bytes>
    static bool quick(const shadow_view& view, std::uintptr_t address, stamp now,
                      const present& p) {
        if constexpr (A == access::read)
            return quick_read<Bytes>(view, address, now, p);
        else
            return quick_write<Bytes>(view, address, now, p);
    }

    void refresh(thread& t) {
        t.now = global_now_.era | stamps::make(0, scheduler_.warp_of(t).step, t.id);
        t.past_grid_wait |= all_past_grid_wait_;
    }

    /// A value on its way to the first block of a cluster.
    struct letter {
        float value;
        std::uint32_t from;  // block
        site at;
    };
    /// By the meetings of the cluster that its block had passed, and its address.
    using letters = std::map<std::pair<int, std::uintptr_t>, letter>;

    void deliver(thread& t, int syncs);
    std::string end_in_cluster();
    void check_meeting(thread& t, meeting what, int detail, site at);
    void check_wgmma(thread& t, const wgmma_call& call, site at);
    void read_operand(thread& t, const pending_operand& read, site at);
    void finish_reads(thread& t, int done, site at);
    [[noreturn]] void stop_at(thread& t, fault kind, site at, access a, std::uintptr_t address,
                              std::size_t bytes, const std::string& why);
    void check_grid_order(thread& t, access a, std::uintptr_t address, std::size_t bytes, site at);
    void judge(thread& t, access a, std::uintptr_t address, std::size_t bytes, site at,
               const trouble& found);
    std::string party(const thread& t, stamp other) const;
    std::string place(std::uintptr_t address, finding& f);
    void add(finding f, const std::string& what);
    bool report_deadlock();
    bool check_end();

    shared_memory shared_;
    shadow_view shared_view_;
    scheduler scheduler_;
    std::deque<stream_log> streams_;  // of all warps of the block
    std::vector<wgmma_warp> wgmma_warps_;
    std::vector<std::vector<wgmma_call>> wgmma_calls_;  // of each four warps
    letters letters_;                                   // of the cluster
    present global_now_, shared_now_;
    std::string kernel_;
    std::vector<begin> begins_;  // blocks of this launch, by first era
    std::uint32_t era_ = 0, block_ = 0;
    int thread_count_ = 0, cluster_blocks_ = 1;
    int cluster_syncs_ = 0;    // that the block has passed
    int syncs_of_others_ = 0;  // that those of its cluster passed
    bool dependent_ = false;
    bool grid_waited_ = false;         // some thread has, in this block
    bool all_past_grid_wait_ = false;  // some thread had, at the last sync
};

}  // namespace catena::exec

#include "catena/exec/host/judge.hpp"
#include "catena/exec/host/judge_cluster.hpp"
#include "catena/exec/host/judge_wgmma.hpp"
