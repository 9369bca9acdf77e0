// What a test asks of a match.
#pragma once

#include "catena/match/detail/match.hpp"

#include <algorithm>
#include <cstdint>

namespace catena_test {

/// Does a stage take the node at `position` over?
inline bool takes(const catena::match& m, std::int32_t position) {
    return std::any_of(m.taken.begin(), m.taken.end(),
                       [&](const catena::taken_node& n) { return n.node == position; });
}

}  // namespace catena_test
