// Generated from generators/catalogue.hpp and generators/policies.cpp: do not edit, regenerate. Hash 931df778f1ff94e8.
// The instance set of sm_100 (B200): link catena::instances_sm_100.
#pragma once

#include "catena/pick/row.hpp"

namespace catena::instances {

/// The table. Without CUDA its rows are described and their kernels are missing.
catena::table sm_100();

}  // namespace catena::instances
