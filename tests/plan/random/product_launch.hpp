// Matvecs and matmuls in plain loops; see launch.hpp.
#pragma once

#include "memory.hpp"

#include "catena/pick/row.hpp"

#include <cstdint>

namespace catena_test {

/// Does what the arguments of a matvec or matmul say, of a launch of so many blocks, by row `r`.
template <class Args>
void launch_product(const catena::row& r, const Args& a, std::uint32_t blocks, machine& m);

}  // namespace catena_test
