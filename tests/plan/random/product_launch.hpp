// Matvecs and matmuls in plain loops; see launch.hpp.
#pragma once

#include "memory.hpp"

#include "catena/exec/launch.hpp"
#include "catena/pick/row.hpp"

#include <cstdint>

namespace catena_test {

/// Does what the arguments of a matvec or matmul say, by row `r`.
template <class Args>
void launch_product(const catena::row& r, const Args& a, const catena::launch_config& config,
                    machine& m);

}  // namespace catena_test
