// Host kernels for the rows of every set: what runs a plan for any arch without its GPU.
#pragma once

#include "catena/exec/host/launch.hpp"
#include "catena/pick/row.hpp"

#include <map>
#include <mutex>
#include <utility>
#include <vector>

namespace CATENA_NAMESPACE::instances {
/// A compiled host kernel, and the computation and policy that it has.
struct host_instance {
    computation computes;
    catena::policy policy;
    host_kernel run;
};

/// The host instances of one file.
struct host_family {
    const host_instance* first;
    int count;
};

/// The kernel among `families` of a row's computation and policy, or null.
inline host_kernel host_kernel_of(const computation& computes, const policy& how,
                                  const host_family* const* families, int count) {
    for (int f = 0; f < count; ++f)
        for (int i = 0; i < families[f]->count; ++i) {
            const host_instance& one = families[f]->first[i];
            if (one.policy == how && one.computes == computes) return one.run;
        }
    return nullptr;
}

/// The kernels of Catena's own sets.
extern const host_family* const host_families[];
extern const int host_family_count;

/// The kernel of a row's computation and policy, or null when it was not compiled: no set has such
/// a row, or the build leaves it out (CATENA_WEIGHTS, CATENA_EVERY_ROW).
host_kernel host_kernel_for(const computation& computes, const policy& how);

/// `described` with the host kernels of `families` and the host executor's launch in place of its
/// own; null for a row that was not compiled. The kernels are kept by the address of the rows,
/// which must therefore be a constant of the program, as those of the sets are.
inline table on_host(const table& described, const host_family* const* families, int count) {
    static std::mutex guard;
    static std::map<std::pair<const row*, int>, std::vector<const void*>> kept;

    const std::lock_guard<std::mutex> lock(guard);
    std::vector<const void*>& kernels = kept[{described.rows, described.row_count}];
    if (kernels.empty())
        for (int i = 0; i < described.row_count; ++i)
            kernels.push_back(reinterpret_cast<const void*>(host_kernel_of(
                described.rows[i].computes, described.rows[i].policy, families, count)));
    table out = described;
    out.kernels = kernels.data();
    out.launch = launch_host;
    out.prepare = nullptr;
    return out;
}

/// The table with the host kernels of Catena's own sets.
table on_host(const table& described);

}  // namespace CATENA_NAMESPACE::instances
