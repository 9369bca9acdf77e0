// Generated from generators/catalogue.hpp and generators/policies.cpp: do not edit, regenerate. Hash 6d1476f79764a620.
// The instance set of sm_75 (RTX 2080 Ti): link catena::instances_sm_75.
#pragma once

#include "catena/pick/row.hpp"

namespace catena::instances {

/// The table. Without CUDA its rows are described and their kernels are missing.
catena::table sm_75();

}  // namespace catena::instances
