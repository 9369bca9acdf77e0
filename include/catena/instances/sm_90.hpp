// Generated from generators/catalogue.hpp and generators/policies.cpp: do not edit, regenerate. Hash 2303ee5f92637959.
// The instance set of sm_90 (H100 SXM): link catena::instances_sm_90.
#pragma once

#include "catena/pick/row.hpp"

namespace catena::instances {

/// The table. Without CUDA its rows are described and their kernels are missing.
catena::table sm_90();

}  // namespace catena::instances
