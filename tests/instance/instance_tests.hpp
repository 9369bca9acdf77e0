// The unit tests of an engine's own instances: those that Catena's have. catena_add_instance_tests
// (CMake) makes a program of this.
#pragma once

#include "catena/pick/row.hpp"

#include <string>
#include <vector>

namespace CATENA_NAMESPACE {

/// A set with its host kernels, and PTX files of its kernels where there are some.
struct tested_set {
    table host;
    std::vector<std::string> ptx;
};

/// Tagged [host]: runs every row of these sets that has a host kernel on the host executor: shapes
/// that fit and that do not, values that leave a format's range, results against a reference in
/// double, and every access checked. A row that stands in several sets runs once. Tagged [ptx]:
/// runs every kernel of the PTX files on an interpreter, against the reference and the host
/// executor. The arguments are those of a Catch2 program; `-c sm_90` runs the rows of sm_90.
/// Returns main's exit code.
int test_instances(int argc, char** argv, std::vector<tested_set> sets);

}  // namespace CATENA_NAMESPACE
