// Launches of routing in plain loops; see launch.hpp.
#pragma once

#include "memory.hpp"

#include "catena/pick/row.hpp"

namespace catena_test {

/// Does what the arguments of a launch of routing say, by row `r`.
void launch_routes(const catena::row& r, const catena::route_args& a, machine& m);

}  // namespace catena_test
