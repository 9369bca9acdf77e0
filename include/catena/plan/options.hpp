// What an engine may ask of a planner.
#pragma once

#include <cstdint>

namespace catena {

struct options {
    bool enabled = true;            ///< off: every node is the engine's
    std::uint64_t chains_off = 0;   ///< bit c: chain c of the table is not looked for
    bool same_bits = false;         ///< rows of one accumulation order for all column counts: results do not
                                    ///< depend on the batch
    bool measured_only = false;     ///< rows without a measurement are not picked
};

}  // namespace catena
