// Host kernels for the rows of every set: what runs a plan for any arch without its GPU.
#pragma once

#include "catena/exec/host/launch.hpp"
#include "catena/pick/row.hpp"

namespace catena::instances {

struct host_instance {
    computation computes;
    policy numbers;
    host_kernel run;
};

/// The host instances of one file.
struct host_family {
    const host_instance* first;
    int count;
};

extern const host_family* const host_families[];
extern const int host_family_count;

/// The kernel of a row's computation and policy, or null when it was not compiled: no set has such
/// a row, or the build leaves it out (CATENA_WEIGHTS, CATENA_EVERY_ROW).
host_kernel host_kernel_for(const computation& computes, const policy& numbers);

/// `described` with host kernels and the host executor's launch in place of its own; null for a row
/// that was not compiled. The kernels are kept by the address of the rows, which must therefore be
/// a constant of the program, as those of the sets are.
table on_host(const table& described);

}  // namespace catena::instances
