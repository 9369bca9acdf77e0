// Runs the threads of one block as fibers, in an order given by a seed, and lets them meet: all of
// a block, or all of a warp. A thread runs until it has to wait; the last to arrive goes on at
// once.
#pragma once

#include "catena/exec/host/fiber.hpp"
#include "catena/exec/host/finding.hpp"
#include "catena/exec/host/mma.hpp"
#include "catena/exec/host/stamp.hpp"
#include "catena/exec/host/wgmma.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace CATENA_NAMESPACE::exec {

/// The calls in which a thread waits for other threads.
enum class meeting : std::uint8_t {
    none,
    sync,
    sync_warp,
    shuffle,
    shuffle_from,
    mma,
    wgmma,
    wgmma_wait,
    stream_fill,
    stream_copy,
    stream_wait,
    stream_release
};

struct thread : fiber {
    int id = 0;
    meeting waits = meeting::none;
    int detail = 0;  ///< argument of the wait: mask, K or format of an mma, stage, groups left
    bool returned = false;
    bool says = false;            ///< what the block hears at a sync_any
    bool past_grid_wait = false;  ///< may write, and read what is not constant
    site at;                      ///< source line of the wait
    stamp now = 0;                ///< stamp of the thread's accesses until its next wait
    std::size_t shared_calls = 0, stream_calls = 0;
    stamp async_fence = 0;     ///< stamp of the last async_fence
    bool wgmma_fence = false;  ///< a wgmma_fence came after the last wgmma_wait
    int wgmma_groups = 0;      ///< committed groups
    std::size_t wgmma_calls = 0;
    std::vector<pending_sums> pending;

    int lane() const { return id % 32; }
};

inline std::string spell(meeting what, int detail) {
    const std::string argument = '(' + std::to_string(detail) + ')';
    switch (what) {
        case meeting::sync:
            return "sync";
        case meeting::sync_warp:
            return "sync_warp";
        case meeting::shuffle:
            return "shuffle_xor" + argument;
        case meeting::shuffle_from:
            return "shuffle";
        case meeting::mma:
            return detail < mma_of_floats
                       ? "mma of K " + std::to_string(detail)
                       : std::string("mma of ") + name(static_cast<format>(detail - mma_of_floats));
        case meeting::wgmma:
            return std::string("wgmma of ") + name(static_cast<format>(detail - mma_of_floats));
        case meeting::wgmma_wait:
            return "wgmma_wait" + argument;
        case meeting::stream_fill:
            return "stream fill" + argument;
        case meeting::stream_copy:
            return "stream copy_own";
        case meeting::stream_wait:
            return "stream wait" + argument;
        case meeting::stream_release:
            return "stream release" + argument;
        case meeting::none:
            break;
    }
    return "nothing";
}

/// A small generator; seed 0 leaves every order as it is.
class order_seed {
  public:
    explicit order_seed(std::uint64_t seed = 0) : state_(seed * 0x9e3779b97f4a7c15u) {}

    template <class T>
    void shuffle(T* first, std::size_t count) {
        if (state_ == 0) return;
        for (std::size_t i = count; i > 1; --i)
            std::swap(first[i - 1], first[static_cast<std::size_t>((next() >> 32) * i >> 32)]);
    }

    /// True seven times of eight; never for seed 0.
    bool mostly() { return state_ != 0 && next() % 8 != 0; }

  private:
    std::uint64_t next() {
        state_ ^= state_ << 13, state_ ^= state_ >> 7, state_ ^= state_ << 17;
        return state_;
    }

    std::uint64_t state_;
};

class scheduler {
  public:
    static constexpr int warp_lanes = 32;

    struct warp {
        int arrived = 0;
        int first = 0;           ///< thread that arrived first
        unsigned round = 0;      ///< meetings held
        std::uint32_t step = 0;  ///< warp barriers since the block barrier
        // The operands of a shuffle or mma, in the round's half: the next may begin while slow
        // lanes still read.
        unsigned values[2][warp_lanes] = {};
        mma_operands operands[2] = {};
    };

    /// Runs `entry` on a fiber per thread. It finds its thread by `arrive` and ends in `finish`.
    /// Returns when all have returned, when nobody can go on, or on `abandon`.
    void run(int threads, const order_seed& seed, fiber_stacks::entry entry, void* owner) {
        const auto count = static_cast<std::size_t>(threads);
        fiber_stacks& stacks = fiber_stacks::of_this_thread();
        stacks.reserve(count);
        seed_ = seed;
        threads_.assign(count, {});
        warps_.assign(count / warp_lanes, {});
        ready_.resize(count);
        for (std::size_t i = 0; i < count; ++i) {
            threads_[i].id = static_cast<int>(i);
            threads_[i].owner = owner;
            stacks.start(threads_[i], i, entry);
            ready_[i] = &threads_[i];
        }
        seed_.shuffle(ready_.data(), count);
        head_ = 0;
        waiting_ = count;
        arrived_ = 0;
        returned_ = 0;
        main_.owner = owner;
        running_ = next();
        main_.leave_for(*running_);
    }

    thread& running() { return *running_; }
    bool all_returned() const { return returned_ == threads_.size(); }

    [[noreturn]] void finish(thread& t) {
        t.returned = true;
        ++returned_;
        go_on_from(t);
        __builtin_unreachable();
    }

    /// Ends `run`; what the threads were doing is never resumed.
    [[noreturn]] void abandon(thread& t) {
        t.leave_for(main_);
        __builtin_unreachable();
    }

    /// Waits until every thread of the block has come. True for the last.
    bool meet_block(thread& t, site at) {
        t.waits = meeting::sync;
        t.at = at;
        if (arrived_ == 0) first_ = t.id;
        if (++arrived_ < threads_.size()) {
            go_on_from(t);
            return false;
        }
        arrived_ = 0;
        wake(t, threads_.data(), threads_.size());
        return true;
    }

    /// Waits until every lane of the warp has come. True for the last.
    bool meet_warp(thread& t, meeting what, int detail, site at) {
        warp& w = warp_of(t);
        t.waits = what;
        t.detail = detail;
        t.at = at;
        if (w.arrived == 0) w.first = t.id;
        if (++w.arrived < warp_lanes) {
            go_on_from(t);
            return false;
        }
        w.arrived = 0;
        ++w.round;
        wake(t, &threads_[static_cast<std::size_t>(t.id / warp_lanes * warp_lanes)], warp_lanes);
        return true;
    }

    warp& warp_of(const thread& t) { return warps_[static_cast<std::size_t>(t.id / warp_lanes)]; }
    std::vector<warp>& warps() { return warps_; }
    const std::vector<thread>& threads() const { return threads_; }

    /// The thread that waits longest at the block's barrier, or at the warp's meeting; null: nobody
    /// does.
    const thread* first_at_sync() const {
        return arrived_ == 0 ? nullptr : &threads_[static_cast<std::size_t>(first_)];
    }
    const thread* first_in_warp(const thread& t) {
        const warp& w = warp_of(t);
        return w.arrived == 0 ? nullptr : &threads_[static_cast<std::size_t>(w.first)];
    }

  private:
    thread* next() {
        if (waiting_ == 0) return nullptr;
        --waiting_;
        thread* t = ready_[head_];
        head_ = head_ + 1 == ready_.size() ? 0 : head_ + 1;
        return t;
    }

    void go_on_from(thread& t) {
        thread* other = next();
        if (other == nullptr) {
            t.leave_for(main_);
            return;
        }
        running_ = other;
        t.leave_for(*other);
    }

    /// Makes `count` threads ready, all but `t`, which goes on. The lanes of a warp mostly go on
    /// before all other threads, since what they use is still in the processor's cache. Now and
    /// then they go on behind them, so that other warps overtake theirs.
    void wake(thread& t, thread* first, std::size_t count) {
        woken_.clear();
        for (std::size_t i = 0; i < count; ++i) {
            first[i].waits = meeting::none;
            if (&first[i] != &t) woken_.push_back(&first[i]);
        }
        seed_.shuffle(woken_.data(), woken_.size());
        const std::size_t added = woken_.size();
        const bool in_front = count < threads_.size() && seed_.mostly();
        if (in_front) head_ = head_ < added ? head_ + ready_.size() - added : head_ - added;
        std::size_t at = in_front ? head_ : head_ + waiting_;
        for (thread* other : woken_) {
            if (at >= ready_.size()) at -= ready_.size();
            ready_[at++] = other;
        }
        waiting_ += added;
    }

    fiber main_;
    std::vector<thread> threads_;
    std::vector<warp> warps_;
    std::vector<thread*> ready_, woken_;  // ready_: a ring of `waiting_` threads from `head_`
    std::size_t head_ = 0, waiting_ = 0, arrived_ = 0, returned_ = 0;
    int first_ = 0;
    thread* running_ = nullptr;
    order_seed seed_;
};

}  // namespace CATENA_NAMESPACE::exec
