// The weight stream of one warp on the host: what its lanes asked for, and whether that obeys the
// protocol begin, copy..., commit, wait, release, stage after stage round the ring.
#pragma once

#include "catena/exec/copy_method.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace CATENA_NAMESPACE::exec {

struct stream_call {
    enum kind : std::uint8_t { begin, copy, commit } what = begin;
    int stage = 0;            ///< begin, commit
    std::uintptr_t to = 0;    ///< copy: in shared memory
    std::uintptr_t from = 0;  ///< copy: in global memory
    std::int64_t bytes = 0;   ///< begin: of all copies; copy: of this one

    bool operator==(const stream_call&) const = default;
};

class stream_log {
  public:
    stream_log(int warp, std::size_t index, copy_method method, int stages)
        : warp_(warp), index_(index), method_(method), stages_(static_cast<std::size_t>(stages)) {}

    bool is(int warp, std::size_t index) const { return warp_ == warp && index_ == index; }
    int warp() const { return warp_; }

    /// Every lane makes every call; the first one to make it acts for all. `problem`: not the same
    /// call.
    bool first_to_call(int lane, const stream_call& call, std::string& problem) {
        std::size_t& made = made_by_[lane];
        if (made == calls_.size()) {
            calls_.push_back(call);
            ++made;
            return true;
        }
        if (!(calls_[made++] == call))
            problem =
                "makes another stream call than a lane before it: every lane of the warp makes "
                "every call with the same arguments";
        return false;
    }

    /// The copy of a lane in a fill.
    stream_call& of_lane(int lane) { return of_lane_[lane]; }

    /// Called at a meeting of the warp. Returns a lane that has made fewer calls, or -1.
    int missing_lane() {
        for (int lane = 0; lane < 32; ++lane)
            if (made_by_[lane] != calls_.size()) return lane;
        calls_.clear();
        for (auto& made : made_by_) made = 0;
        return -1;
    }

    /// What is wrong with a call, or nothing. Memory is checked elsewhere.
    std::string apply(const stream_call& call) {
        switch (call.what) {
            case stream_call::begin:
                return begin(call.stage, call.bytes);
            case stream_call::copy:
                return copy(call);
            case stream_call::commit:
                return commit(call.stage);
        }
        return {};
    }

    /// The copies that a wait for `stage` brings; `problem`: why it may not be waited for.
    std::vector<stream_call> wait(int stage, std::string& problem) {
        if (!valid(stage))
            problem = "waits for" + out_of_ring(stage);
        else if (stage != next_wait_)
            problem = "waits for" + out_of_order(stage, next_wait_);
        else if (at(stage).is != state::committed)
            problem = "waits for stage " + std::to_string(stage) + ", which is " +
                      spell(at(stage).is) + ": begin, copy and commit it first";
        if (!problem.empty()) return {};
        at(stage).is = state::arrived;
        next_wait_ = after(stage);
        return std::exchange(at(stage).copies, {});
    }

    std::string release(int stage) {
        if (!valid(stage)) return "releases" + out_of_ring(stage);
        if (at(stage).is != state::arrived)
            return "releases stage " + std::to_string(stage) + ", which is " + spell(at(stage).is) +
                   ": release a stage once, after its wait";
        at(stage).is = state::free;
        return {};
    }

    /// The stage that is still being filled, or -1: a block must not end so.
    int unfinished() const {
        for (std::size_t i = 0; i < stages_.size(); ++i)
            if (stages_[i].is == state::filling || stages_[i].is == state::committed)
                return static_cast<int>(i);
        return -1;
    }

  private:
    enum class state : std::uint8_t { free, filling, committed, arrived };
    struct stage {
        state is = state::free;
        std::int64_t total = 0, copied = 0;
        std::vector<stream_call> copies;
    };

    static const char* spell(state s) {
        static constexpr const char* words[] = {"empty", "not committed",
                                                "committed and not waited for", "not released"};
        return words[static_cast<int>(s)];
    }
    bool valid(int stage) const {
        return stage >= 0 && static_cast<std::size_t>(stage) < stages_.size();
    }
    stage& at(int i) { return stages_[static_cast<std::size_t>(i)]; }
    int after(int i) const { return static_cast<std::size_t>(i) + 1 == stages_.size() ? 0 : i + 1; }
    std::string out_of_ring(int stage) const {
        return " stage " + std::to_string(stage) + " of a stream of " +
               std::to_string(stages_.size()) + ": stages are numbered from 0";
    }
    static std::string out_of_order(int stage, int next) {
        return " stage " + std::to_string(stage) + " where stage " + std::to_string(next) +
               " is next: stages come in ring order";
    }
    std::string ragged(std::int64_t bytes) const {
        return method_ != copy_method::plain && bytes % 16 != 0
                   ? std::to_string(bytes) +
                         " bytes, which is no multiple of 16: round the slice to "
                         "16-byte boundaries"
                   : std::string{};
    }

    std::string begin(int stage, std::int64_t total) {
        if (!valid(stage)) return "begins" + out_of_ring(stage);
        if (stage != next_fill_) return "begins" + out_of_order(stage, next_fill_);
        if (filling_ >= 0)
            return "begins stage " + std::to_string(stage) + " while stage " +
                   std::to_string(filling_) + " is being filled: commit that first";
        if (at(stage).is != state::free)
            return "begins stage " + std::to_string(stage) + ", which is " + spell(at(stage).is) +
                   ": wait for it and release it first";
        if (const std::string why = ragged(total); !why.empty()) return "begins a fill of " + why;
        at(stage).is = state::filling;
        at(stage).total = total;
        at(stage).copied = 0;
        filling_ = stage;
        next_fill_ = after(stage);
        return {};
    }

    std::string copy(const stream_call& call) {
        if (filling_ < 0) return "copies outside begin and commit: begin a stage first";
        if (call.bytes <= 0)
            return "copies " + std::to_string(call.bytes) + " bytes: leave out empty copies";
        const bool word = method_ == copy_method::async && call.bytes == 4;
        if (const std::string why = word ? "" : ragged(call.bytes); !why.empty())
            return "copies " + why;
        const std::uintptr_t unit = word ? 4 : 16;
        if (method_ != copy_method::plain && (call.to % unit != 0 || call.from % unit != 0))
            return std::string("copies ") + (call.to % unit != 0 ? "to" : "from") +
                   " an address that is no multiple of " + std::to_string(unit) +
                   ": align it, or use copy_method::plain";
        at(filling_).copied += call.bytes;
        at(filling_).copies.push_back(call);
        return {};
    }

    std::string commit(int stage) {
        if (stage != filling_)
            return "commits stage " + std::to_string(stage) +
                   ", which is not being filled: begin it first";
        filling_ = -1;
        at(stage).is = state::committed;
        if (at(stage).copied != at(stage).total)
            return "commits stage " + std::to_string(stage) + " with " +
                   std::to_string(at(stage).copied) + " bytes copied where begin announced " +
                   std::to_string(at(stage).total) + ": a GPU would wait for ever";
        return {};
    }

    int warp_;
    std::size_t index_;
    copy_method method_;
    int next_fill_ = 0, next_wait_ = 0, filling_ = -1;
    std::vector<stage> stages_;
    std::vector<stream_call> calls_;  // since the last meeting
    std::size_t made_by_[32] = {};
    stream_call of_lane_[32] = {};
};

}  // namespace CATENA_NAMESPACE::exec
