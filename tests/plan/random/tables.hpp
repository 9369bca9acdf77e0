// The tables whose plans are tried: the one that ships, and an invented one.
#pragma once

#include "catena/pick/row.hpp"

namespace catena_test {

/// Rows and chains of the host set, without its kernels.
catena::table shipped_table();

}  // namespace catena_test
