// Generated from generators/catalogue.hpp and generators/policies.cpp: do not edit, regenerate. Hash 00fb6903d813b20c.
// The instance set of sm_120 (RTX 5090): link catena::instances_sm_120.
#pragma once

#include "catena/pick/row.hpp"

namespace CATENA_NAMESPACE::instances {

/// The table. Without CUDA its rows are described and their kernels are missing.
catena::table sm_120();

}  // namespace CATENA_NAMESPACE::instances
