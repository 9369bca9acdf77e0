// Generated from generators/catalogue.hpp and generators/policies.cpp: do not edit, regenerate. Hash 6d09ce3011c6866d.
// The instance set of sm_89 (RTX 4090): link catena::instances_sm_89.
#pragma once

#include "catena/pick/row.hpp"

namespace catena::instances {

/// The table. Without CUDA its rows are described and their kernels are missing.
catena::table sm_89();

}  // namespace catena::instances
