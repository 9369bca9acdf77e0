// When things happen in a launch on the host: the eras of its blocks, which stamps are made of, and
// which block an era was of.
#pragma once

#include "catena/exec/host/stamp.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace CATENA_NAMESPACE::exec {

class launch_clock {
  public:
    /// False: eras have run out. Forget every stamp, then call it again.
    bool begin_launch() {
        if (era_ >= stamps::max_era) {
            era_ = 0;
            return false;
        }
        begins_.clear();
        global_.oldest = stamps::before_all_launches;
        global_.launch = stamps::floor(era_ + 1);
        return true;
    }

    void begin_block(std::uint32_t block) {
        begins_.push_back({++era_, block});
        const stamp now = stamps::floor(era_);
        global_.block = global_.era = now;
        shared_ = {now, now, now, now};
    }

    /// After a barrier of the block.
    void next_era() { global_.era = shared_.era = stamps::floor(++era_); }

    /// The stamp of an access by `thread`, after `step` warp barriers in this era.
    stamp now(std::uint32_t step, int thread) const {
        return global_.era | stamps::make(0, step, thread);
    }

    const present& global() const { return global_; }
    const present& shared() const { return shared_; }

    std::uint32_t block() const { return begins_.back().block; }
    /// The block of an access in this launch; of one before it, the running block.
    std::uint32_t block_of(stamp access) const {
        const auto past =
            std::upper_bound(begins_.begin(), begins_.end(), stamps::era(access),
                             [](std::uint32_t era, const begin& b) { return era < b.era; });
        return past == begins_.begin() ? block() : std::prev(past)->block;
    }

  private:
    struct begin {
        std::uint32_t era, block;
    };

    present global_, shared_;
    std::vector<begin> begins_;  // blocks of this launch, by first era
    std::uint32_t era_ = 0;
};

}  // namespace CATENA_NAMESPACE::exec
