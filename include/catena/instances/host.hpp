// Generated from generators/catalogue.hpp and generators/policies.cpp: do not edit, regenerate. Hash 7fb73c66d80191ca.
// The instance set of host (host): link catena::instances_host.
#pragma once

#include "catena/instances/on_host.hpp"
#include "catena/pick/row.hpp"

namespace catena::instances {

/// The table of the host executor, kernels included.
table host();

}  // namespace catena::instances
