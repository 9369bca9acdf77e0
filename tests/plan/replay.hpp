// An oracle for plans that knows nothing of how they are made. It replays the engine's order on a
// symbolic memory where every byte remembers which node wrote it, then the plan's order, and
// compares what is read.
#pragma once

#include "catena/plan/planner.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace catena_test {

/// Memory as runs of bytes that one writer left behind.
class symbolic_memory {
  public:
    static constexpr std::int32_t nobody = -1;

    struct run {
        std::uint64_t first, last;  ///< [first, last)
        std::int32_t writer;        ///< node position; nobody: there before
        std::uint64_t version;      ///< of the writer's value: differs when its inputs differed

        bool operator==(const run& o) const {
            return first == o.first && last == o.last && writer == o.writer && version == o.version;
        }
        bool operator!=(const run& o) const { return !(*this == o); }
    };

    void write(const catena::tensor& t, std::int32_t writer, std::uint64_t version);
    /// The bytes that were set aside behind a tensor's.
    void write_scratch(const catena::tensor& t, std::int32_t writer, std::uint64_t version);
    /// The runs of a tensor's bytes.
    std::vector<run> read(const catena::tensor& t) const;

  private:
    struct written {
        std::uint64_t last;
        std::int32_t writer;
        std::uint64_t version;
    };
    std::map<std::pair<std::int32_t, std::uint64_t>, written> runs_;  // by buffer and first byte

    void write(std::int32_t buffer, std::uint64_t first, const written& w);
};

/// Empty when the plan reads, everywhere, what the engine's order reads, and leaves behind every
/// value that somebody outside may read; else a sentence about the first difference. The view must
/// be allocated.
std::string difference(const catena::graph_view& view, const catena::plan& plan);

/// Empty when roles, steps and covered nodes of a plan fit together; else what does not.
std::string inconsistency(const catena::graph_view& view, const catena::plan& plan);

}  // namespace catena_test
