// A graph's buffers on a machine, at the offsets that the engine's allocator chose: tensors that
// share memory in the file share it here.
#pragma once

#include "machine.hpp"

#include "catena/engine/json.hpp"

#include <cstdint>
#include <vector>

namespace catena::tool {

/// The parts of a buffer that hold weights and nothing that is written while the graph runs, in
/// order; gaps between two weights belong to them.
std::vector<byte_range> weight_ranges(const json::graph& g, std::int32_t buffer);

class placement {
  public:
    /// Reserves one range per buffer and gives every tensor of the copy its address.
    placement(const json::graph& g, machine& on);

    graph_view view() const { return graph_.view(); }

    /// The same number for the same byte of the graph in every process: what seeds its data.
    std::uint64_t key(const void* address) const;

  private:
    struct buffer {
        std::byte* base;
        std::uint64_t bytes;
    };
    json::graph graph_;
    std::vector<buffer> buffers_;
};

}  // namespace catena::tool
