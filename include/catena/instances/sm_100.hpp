// Generated from generators/catalogue.hpp and generators/policies.cpp: do not edit, regenerate. Hash 927bc8a93ed18a10.
// The instance set of sm_100 (B200): link catena::instances_sm_100.
#pragma once

#include "catena/pick/row.hpp"

namespace CATENA_NAMESPACE::instances {

/// The table. Without CUDA its rows are described and their kernels are missing.
catena::table sm_100();

}  // namespace CATENA_NAMESPACE::instances
