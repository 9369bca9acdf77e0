// The unit tests of an engine's own instances: those that Catena's have. catena_add_instance_tests
// (CMake) makes a program of this.
#pragma once

#include "catena/pick/row.hpp"

#include <vector>

namespace catena {

/// Runs every row of these tables that has a host kernel on the host executor: shapes that fit and
/// that do not, values that leave a format's range, results against a reference in double, and
/// every access checked. A row that stands in several tables runs once. The arguments are those of
/// a Catch2 program; `-c sm_90` runs the rows of sm_90. Returns main's exit code.
int test_instances(int argc, char** argv, std::vector<table> tables);

}  // namespace catena
