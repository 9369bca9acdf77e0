// What an engine may ask of a planner.
#pragma once

#include "catena/pick/pick.hpp"

#include <cstdint>

namespace catena {

struct options {
    bool enabled = true;           ///< off: every node is the engine's
    std::uint64_t chains_off = 0;  ///< bit c: chain c of the table is not looked for
    preference pick;               ///< which rows may be picked
};

}  // namespace catena
