// Which weights a row step brings to L2 for the groups behind it, while it keeps a few SMs busy:
// the dense ones up to the next row step, in the order of their nodes in each group, as far as the
// budget goes, and each once in a plan. A row step that has a block for every SM brings none.
// Experts are left out, since their ids are not known yet.
#pragma once

#include "catena/kernel/args.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace CATENA_NAMESPACE {

class ahead_dealer {
  public:
    /// `budget`: at most what an L2 has, so it fits in 31 bits.
    explicit ahead_dealer(std::int64_t budget) : budget_(budget) {}

    void begin(row_args& by) {
        by_ = &by;
        left_ = budget_;
        ranges_ = 0;
    }
    /// No row step brings what is offered next.
    void end() { by_ = nullptr; }

    /// The weight of a tensor; null: the graph has no addresses yet.
    void offer(std::int32_t tensor, const void* weight, std::int64_t bytes) {
        const std::int64_t taken = std::min(bytes, left_) / unit * unit;
        if (by_ == nullptr || taken == 0 || ranges_ == max_weights_ahead) return;
        if (reinterpret_cast<std::uintptr_t>(weight) % unit != 0) return;
        const auto at = std::lower_bound(dealt_.begin(), dealt_.end(), tensor);
        if (at != dealt_.end() && *at == tensor) return;
        dealt_.insert(at, tensor);
        by_->ahead[ranges_++] = {weight, static_cast<std::int32_t>(taken)};
        left_ -= taken;
    }

  private:
    static constexpr std::int64_t unit = 16;  // bytes that a prefetch is a multiple of

    row_args* by_ = nullptr;  // null: no row step stands before
    std::int64_t budget_, left_ = 0;
    int ranges_ = 0;
    std::vector<std::int32_t> dealt_;  // tensors, sorted
};

/// Bytes that a row step brings to L2, and the blocks that do.
inline std::int64_t bytes_ahead(const row_args& a) {
    std::int64_t all = 0;
    for (const weights_ahead& w : a.ahead) all += w.bytes;
    return all;
}
inline std::uint32_t blocks_ahead(const row_args& a) {
    std::uint32_t all = 0;
    for (const weights_ahead& w : a.ahead) all += static_cast<std::uint32_t>(blocks_of(w));
    return all;
}

}  // namespace CATENA_NAMESPACE
