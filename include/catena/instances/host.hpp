// Generated from generators/catalogue.hpp and generators/policies.cpp: do not edit, regenerate. Hash 3876cde6af39b46a.
// The instance set of host (host): link catena::instances_host.
#pragma once

#include "catena/instances/on_host.hpp"
#include "catena/pick/row.hpp"

namespace CATENA_NAMESPACE::instances {

/// The table of the host executor, kernels included.
table host();

}  // namespace CATENA_NAMESPACE::instances
