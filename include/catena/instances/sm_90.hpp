// Generated from generators/catalogue.hpp and generators/policies.cpp: do not edit, regenerate. Hash e27bb7552f8c47e1.
// The instance set of sm_90 (H100 SXM): link catena::instances_sm_90.
#pragma once

#include "catena/pick/row.hpp"

namespace CATENA_NAMESPACE::instances {

/// The table. Without CUDA its rows are described and their kernels are missing.
catena::table sm_90();

}  // namespace CATENA_NAMESPACE::instances
