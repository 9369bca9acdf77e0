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

/// The first node of a stage that makes the chain's value, or -1.
inline std::int32_t node_of(const catena::match& m, catena::stage_kind stage) {
    for (const catena::taken_node& n : m.taken)
        if (n.stage == stage && !n.aside) return n.node;
    return -1;
}

}  // namespace catena_test
