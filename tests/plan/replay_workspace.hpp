// The workspace of a plan as its launches see it: which bytes each of them is handed, and what
// these bytes hold.
#pragma once

#include "replay.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace catena_test {

/// One activation in one layout, as a launch reads or writes it.
struct workspace_part {
    std::int64_t first = 0, last = 0;  ///< bytes of the workspace, [first, last)
    catena::format layout = catena::format::unknown;
    std::int32_t chain = -1;                  ///< of the plan: whose activation it is
    std::vector<symbolic_memory::run> value;  ///< the f32 that were quantized
    bool begun = false;                       ///< a norm without 1 / rms, and its squares

    bool meets(const workspace_part& o) const { return first < o.last && o.first < last; }
};

/// All that one launch does to the workspace.
struct workspace_use {
    std::int32_t stream = 0;
    std::vector<workspace_part> reads, writes;
};

/// What every byte of the workspace holds.
class workspace_memory {
  public:
    explicit workspace_memory(std::int64_t bytes) : bytes_(bytes) {}

    /// Lets a launch read and write. Empty, or what is wrong: it reads what nobody wrote there in
    /// one piece, or what holds another value; it writes over what it reads or writes itself, out
    /// of bounds, or where the launches of another stream read or write.
    std::string launch(const workspace_use& use);

  private:
    struct touched {
        std::int64_t first, last;
        std::int32_t stream;
    };
    std::int64_t bytes_;
    std::vector<workspace_part> parts_;
    std::vector<touched> touched_;  // by all launches, each range once for a stream

    std::string fault_of(const workspace_part& p, std::int32_t stream);
    std::string read(const workspace_part& wanted) const;
};

/// What the arguments of step `index` name in the workspace, without the values. `fault`: what it
/// should read there and does not.
workspace_use workspace_use_of(const catena::plan& plan, int index, std::string& fault);

}  // namespace catena_test
