// How an engine changes the policies of its own instances.
#pragma once

#include "catena/pick/row.hpp"

#include <vector>

namespace catena::generator {

/// Changes the policies that Catena would compile a computation with on an arch: adds some, takes
/// some out, or replaces them all. It is called for every computation of the catalogue.
using policy_change = void (*)(const arch& target, const computation& computes,
                               std::vector<policy>& policies);

}  // namespace catena::generator
