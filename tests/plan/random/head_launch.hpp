// Launches of heads in plain loops; see launch.hpp.
#pragma once

#include "memory.hpp"

#include "catena/pick/row.hpp"

namespace catena_test {

/// Does what the arguments of a launch of heads say, by row `r`.
void launch_heads(const catena::row& r, const catena::heads_args& a, machine& m);

}  // namespace catena_test
