// Copies of a cut in memory: each with weights of its own, so that weights come from memory and not
// from the cache, and all with the same inputs and results, as the layers of a model reuse them.
#pragma once

#include "cut.hpp"

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

namespace catena::bench {

/// Where copies lie, and how bytes get there.
struct memory {
    std::byte* base = nullptr;  ///< aligned to 256 bytes
    std::int64_t bytes = 0;
    std::function<void(std::byte* to, std::span<const std::byte>)> write = {};  ///< empty: nothing
                                                                                ///< is filled
    std::function<void(const std::byte* from, std::span<std::byte>)> read = {};
    /// Within the memory; where it is not given, bytes are written again.
    std::function<void(std::byte* to, const std::byte* from, std::size_t)> copy = {};
};

/// Room for so many copies, and no byte more.
std::int64_t bytes_of_copies(const small_graph& g, int copies);

/// So many copies that their weights are four times the cache, within what the memory holds: 256 at
/// most, 20 at least; 4 of many columns, which take long. 0: fewer than two fit, and a time would
/// be the cache's.
int copies_for(const small_graph& g, int columns, double cache_bytes, std::int64_t memory_bytes);

/// Copies with their addresses; leaves are filled with seeded data: weights as a model's,
/// activations of deviation 1, norm weights near 1, ids of distinct experts.
std::vector<small_graph> place_copies(const small_graph& g, int copies, const memory& where);

/// A cut with an address of its own for every tensor, which nobody reads or writes: plans only
/// compare them.
small_graph placed(const small_graph& g);

}  // namespace catena::bench
