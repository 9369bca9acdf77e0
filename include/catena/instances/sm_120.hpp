// Generated from generators/catalogue.hpp and generators/policies.cpp: do not edit, regenerate. Hash 96b93ded3c96dc94.
// The instance set of sm_120 (RTX 5090): link catena::instances_sm_120.
#pragma once

#include "catena/pick/row.hpp"

namespace catena::instances {

/// The table. Without CUDA its rows are described and their kernels are missing.
catena::table sm_120();

}  // namespace catena::instances
