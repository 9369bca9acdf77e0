// Where the threads of a block meet: barriers of the block and of a warp, what lanes exchange, and
// the wait for the kernel before. All threads must come to the same meeting.
#pragma once

#include "catena/exec/host/report.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>

namespace CATENA_NAMESPACE::exec {

class thread_meetings {
  public:
    thread_meetings(scheduler& threads, launch_clock& clock, fault_report& report)
        : threads_(threads), clock_(clock), report_(report) {}

    void begin_block(bool dependent) { grid_waited_ = all_past_grid_wait_ = !dependent; }

    /// Gives t the time of its next accesses.
    void refresh(thread& t) {
        t.now = clock_.now(threads_.warp_of(t).step, t.id);
        t.past_grid_wait |= all_past_grid_wait_;
    }

    void grid_wait(thread& t) { grid_waited_ = t.past_grid_wait = true; }
    /// Has some thread of the block waited, or did none have to?
    bool grid_waited() const { return grid_waited_; }

    /// A meeting of the block that orders nothing. True for the last thread to come.
    bool meet_block(thread& t, site at) {
        const thread* first = threads_.first_at_sync();
        if (first != nullptr && !same(first->at, at))
            report_.stop(t, fault::divergence, at,
                         "waits at a sync where thread " + std::to_string(first->id) +
                             " waits at another one (" + spell(first->at) +
                             "): all threads of a block must reach the same sync");
        return threads_.meet_block(t, at);
    }

    /// One that orders the block's memory accesses. `last` runs in the last thread to come.
    template <class Last>
    void sync(thread& t, site at, Last&& last) {
        if (meet_block(t, at)) {
            last();
            clock_.next_era();
            for (auto& warp : threads_.warps()) warp.step = 0;
            all_past_grid_wait_ = grid_waited_;
        }
        refresh(t);
    }

    /// One behind which every thread knows whether any has said yes.
    bool sync_any(thread& t, bool says, site at) {
        t.says = says;
        sync(t, at, [this] {
            const auto& all = threads_.threads();
            any_says_ = std::any_of(all.begin(), all.end(), [](const thread& o) { return o.says; });
        });
        return any_says_;
    }

    /// A meeting of the warp. True for the last lane to come.
    bool meet(thread& t, meeting what, int detail, site at) {
        const thread* first = threads_.first_in_warp(t);
        if (first != nullptr && (first->waits != what || first->detail != detail))
            report_.stop(t, fault::divergence, at,
                         "comes to " + spell(what, detail) + " while thread " +
                             std::to_string(first->id) + " of its warp waits at " +
                             spell(first->waits, first->detail) + " (" + spell(first->at) +
                             "): all 32 lanes must take the same path to it");
        return threads_.meet_warp(t, what, detail, at);
    }

    /// One that orders the warp's memory accesses. `last` runs in the last lane to come.
    template <class Last>
    void sync_warp(thread& t, meeting what, int detail, site at, Last&& last) {
        if (meet(t, what, detail, at)) {
            last();
            auto& warp = threads_.warp_of(t);
            if (++warp.step > stamps::max_step)
                report_.stop(t, fault::body, at,
                             "passes its millionth warp barrier since the block's last "
                             "sync: races can no longer be told apart, sync now and then");
        }
        refresh(t);
    }

    std::uint32_t shuffle_xor(thread& t, std::uint32_t value, int mask, site at) {
        if (mask <= 0 || mask >= scheduler::warp_lanes)
            report_.stop(
                t, fault::body, at,
                "shuffles by mask " + std::to_string(mask) + ": a mask lies between 1 and 31");
        return exchange(t, meeting::shuffle, mask, value, t.lane() ^ mask, at);
    }

    std::uint32_t shuffle(thread& t, std::uint32_t value, int from, site at) {
        if (from < 0 || from >= scheduler::warp_lanes)
            report_.stop(t, fault::body, at,
                         "shuffles from lane " + std::to_string(from) + ": lanes are 0 to 31");
        return exchange(t, meeting::shuffle_from, 0, value, from, at);
    }

    /// The lane's part of d += a * b, K = 16 * Steps.
    template <int Steps>
    void mma(thread& t, int (&d)[4], const unsigned* a, const unsigned* b, site at) {
        auto& operands = operands_of_round(t);
        operands.put<Steps>(t.lane(), a, b);
        meet(t, meeting::mma, 16 * Steps, at);
        operands.add_product<Steps>(t.lane(), d);
    }

    /// An mma of floats, with 32 bytes of K.
    template <format F>
    void mma_of(thread& t, real (&d)[4], const unsigned* a, const unsigned* b, site at) {
        auto& operands = operands_of_round(t);
        operands.put<2>(t.lane(), a, b);
        meet(t, meeting::mma, mma_detail(F), at);
        operands.add_product_of<F>(t.lane(), d);
    }

    /// Which of its two buffers t's warp uses for its next exchange.
    unsigned half_of_round(const thread& t) { return threads_.warp_of(t).round & 1; }
    /// The time of a thread's last async_fence.
    stamp async_fence_of(int thread) const {
        return threads_.threads()[static_cast<std::size_t>(thread)].async_fence;
    }

    /// Nobody can go on: names, for every place, who waits there.
    void report_deadlock() {
        struct group {
            int count = 0, first = 0;
        };
        std::map<std::string, group> groups;
        const thread* waits = nullptr;
        for (const thread& t : threads_.threads()) {
            const std::string where =
                t.returned ? "returned"
                           : "wait at " + spell(t.waits, t.detail) + " (" + spell(t.at) + ")";
            group& g = groups[where];
            if (g.count++ == 0) g.first = t.id;
            if (!t.returned && waits == nullptr) waits = &t;
        }
        std::string what = "waits for ever at " + spell(waits->waits, waits->detail) + ": ";
        const char* separator = "";
        for (const auto& [where, g] : groups) {
            what += separator + std::to_string(g.count) +
                    (g.count == 1 ? " thread (" : " threads (first ") + std::to_string(g.first) +
                    ") " + where;
            separator = "; ";
        }
        report_.add(fault::divergence, waits->id, waits->at,
                    what + ": every thread must take the same path to it");
    }

  private:
    std::uint32_t exchange(thread& t, meeting what, int detail, std::uint32_t value, int from,
                           site at) {
        auto& values = threads_.warp_of(t).values[half_of_round(t)];
        values[t.lane()] = value;
        meet(t, what, detail, at);
        return values[from];
    }

    mma_operands& operands_of_round(thread& t) {
        return threads_.warp_of(t).operands[half_of_round(t)];
    }

    scheduler& threads_;
    launch_clock& clock_;
    fault_report& report_;
    bool grid_waited_ = false;         // some thread has, in this block
    bool all_past_grid_wait_ = false;  // some thread had, at the last sync
    bool any_says_ = false;            // at the last sync_any
};

}  // namespace CATENA_NAMESPACE::exec
