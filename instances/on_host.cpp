#include "catena/instances/on_host.hpp"

namespace CATENA_NAMESPACE::instances {

host_kernel host_kernel_for(const computation& computes, const policy& how) {
    return host_kernel_of(computes, how, host_families, host_family_count);
}

table on_host(const table& described) {
    return on_host(described, host_families, host_family_count);
}

}  // namespace CATENA_NAMESPACE::instances
