// Generated from generators/catalogue.hpp and generators/policies.cpp: do not edit, regenerate. Hash 4d58e0b865f55c28.
// The instance set of sm_75 (RTX 2080 Ti): link catena::instances_sm_75.
#pragma once

#include "catena/pick/row.hpp"

namespace CATENA_NAMESPACE::instances {

/// The table. Without CUDA its rows are described and their kernels are missing.
catena::table sm_75();

}  // namespace CATENA_NAMESPACE::instances
