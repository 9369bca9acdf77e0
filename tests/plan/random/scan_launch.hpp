// Launches that scan state spaces in plain loops; see launch.hpp.
#pragma once

#include "memory.hpp"

#include "catena/pick/row.hpp"

namespace catena_test {

/// Does what the arguments of a launch that scans say, by row `r`.
void launch_scan(const catena::row& r, const catena::heads_args& a, machine& m);

}  // namespace catena_test
