// Catena's side of a benchmark: copies of a cut, planned and launched one after the other.
#pragma once

#include "copies.hpp"

#include "catena/runtime.hpp"

#include <string>
#include <vector>

namespace catena::bench {

class planned_copies {
  public:
    planned_copies(const std::vector<small_graph>& copies, const table& rows);

    std::int64_t workspace_bytes() const { return workspace_bytes_; }

    /// Launches every copy.
    status launch(void* stream, void* workspace) const;

    int launches_of_one() const { return launches_; }
    std::vector<std::string> instances() const;  ///< of one copy, in launch order
    std::uint64_t steps_key() const;             ///< of one copy's steps, as engine_median has it
    double predicted_us() const;                 ///< of one copy's steps, one after the other

    /// Ops of one copy that its plan leaves to the engine; empty: Catena computes all of it.
    std::string left() const { return left_; }

  private:
    std::vector<plan> plans_;  ///< one per copy
    std::int64_t workspace_bytes_ = 0;
    int launches_ = 0;
    std::string left_;
};

}  // namespace catena::bench
