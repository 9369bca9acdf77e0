// The tables whose plans are tried: the one that ships, and an invented one.
#pragma once

#include "catena/pick/row.hpp"

namespace catena_test {

/// Rows and chains of the host set, without its kernels.
catena::table shipped_table();

/// The same with matvecs that make their norm themselves, of all its formats and columns, on a
/// machine whose launches are so dear that this pays.
catena::table norm_inside_table();

}  // namespace catena_test
