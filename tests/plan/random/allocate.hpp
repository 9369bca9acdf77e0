// How an engine gives out memory, in several manners: whatever is dead is given out again as soon
// as the manner finds it.
#pragma once

#include "catena/plan/optimize.hpp"

#include "catena_test/graph_builder.hpp"

#include <cstdint>
#include <random>
#include <vector>

namespace catena_test {

/// Which free memory is taken, of all that is large enough.
enum class fit : std::uint8_t {
    first,       ///< the lowest address
    best,        ///< the smallest, as ggml-alloc does
    last_freed,  ///< what was freed last, at its first byte
    exact,       ///< what is exactly as large, else the largest
    last         ///< the highest address
};
inline constexpr int fit_count = 5;

struct allocator_manner {
    fit by = fit::best;
    std::int64_t alignment = 32;
    unsigned in_place = 0;  ///< of so many results that could lie over an input one does not; 0:
                            ///< all of them do
};

/// Where every tensor lies: offsets in an arena of `bytes` bytes; -1 for what lies elsewhere.
struct placement {
    std::vector<std::int64_t> at;
    std::int64_t bytes = 0;
};

/// A value is freed after its last use, a result may take over an input that dies, names keep alive
/// what they name, what is wanted in the end is never freed, and `keep` is not freed before its
/// time. Names have no offset of their own.
placement allocate(graph_builder& g, const std::vector<bool>& in_arena,
                   const std::vector<bool>& wanted, const std::vector<catena::keep_alive>& keep,
                   const allocator_manner& manner, std::mt19937& random);

/// Gives results, and leaves that are no weights, the places that `allocate` finds for them in one
/// buffer. `kept`: tensors that are never freed. Addresses are made up.
void allocate_all(graph_builder& g, const std::vector<id>& kept,
                  const std::vector<catena::keep_alive>& keep, const allocator_manner& manner,
                  std::mt19937& random);

}  // namespace catena_test
