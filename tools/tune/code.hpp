// What the machine code of a matvec costs that nobody has compiled, by that of one which is on
// record: the cost model asks for it where it ranks candidates.
#pragma once

#include "catena/pick/row.hpp"

#include <vector>

namespace catena::tune {

/// The counts of `r`: its own, those of the row of `recorded` with its policy, or what the nearest
/// of them makes likely, which multiplies the same formats in the same way. None if there is none.
warp_codes code_like(const row& r, const std::vector<row>& recorded);

}  // namespace catena::tune
