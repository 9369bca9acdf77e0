// Rules that the launch of a kernel keeps, and the first that it breaks.
#pragma once

#include "catena/plan/step.hpp"

#include <cstdint>

namespace CATENA_NAMESPACE::proof {

/// What is wrong with a launch: a sentence's end, and the byte that shows it.
struct fault {
    const char* why = nullptr;  ///< null: nothing is
    std::uint64_t byte = 0;
    const char* operand = "";
    explicit operator bool() const { return why != nullptr; }
};

/// Rules that a launch keeps, or the first that it breaks.
class launch_rules {
  public:
    explicit launch_rules(const step& s) : config_(s.config) {}

    fault broken;

    void must(bool holds, const char* why, std::int64_t have, const char* operand) {
        if (!holds && !broken) broken = {why, static_cast<std::uint64_t>(have), operand};
    }
    void multiple(std::int64_t n, std::int64_t of, const char* operand) {
        must(n % of == 0, "are no multiple of what its kernel takes together", n, operand);
    }
    void at_most(std::int64_t n, std::int64_t most, const char* operand) {
        must(n <= most, "are more than its kernel can do", n, operand);
    }

    /// A block has `width` times the threads of the policy, 1 to `widest`, and room in shared
    /// memory; a cluster of `most` blocks at most has them together.
    void block(std::int64_t threads, int widest, std::int64_t shared, int most) {
        must(config_.threads % threads == 0 && config_.threads / threads >= 1 &&
                 config_.threads / threads <= static_cast<std::uint32_t>(widest),
             "are not those of its kernel", config_.threads, "its threads");
        room(shared);
        must(config_.cluster >= 1 && (config_.cluster == 1 || config_.cluster <= unsigned(most)),
             "has more blocks than its kernel shares work among", config_.cluster, "its cluster");
    }
    /// Dynamic shared memory of a block, in bytes.
    void room(std::int64_t shared) {
        must(config_.shared_bytes >= shared, "is too little for its kernel", config_.shared_bytes,
             "its shared memory");
    }
    std::int64_t blocks() const { return config_.blocks; }
    std::int64_t cluster() const { return config_.cluster; }
    std::int64_t width(int threads) const { return config_.threads / unsigned(threads); }

  private:
    const launch_config& config_;
};

}  // namespace CATENA_NAMESPACE::proof
