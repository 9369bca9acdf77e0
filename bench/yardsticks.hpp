// What the machine can do at all, measured beside the kernels: an empty graph node, reading,
// copying.
#pragma once

#include "measure.hpp"

#include <vector>

namespace catena::bench {

/// `empty`, `read` and `copy` (bytes read plus written), in this order. `arena` is what they move.
std::vector<timed> yardsticks(const buffer& arena, int sms);

/// Random bytes in which no 16-bit or 32-bit float is infinite or NaN.
void fill(const buffer& b, unsigned seed);

}  // namespace catena::bench
