// Generated from generators/catalogue.hpp and generators/policies.cpp: do not edit, regenerate. Hash f3cf31d6cb132bbd.
// The instance set of sm_89 (RTX 4090): link catena::instances_sm_89.
#pragma once

#include "catena/pick/row.hpp"

namespace CATENA_NAMESPACE::instances {

/// The table. Without CUDA its rows are described and their kernels are missing.
catena::table sm_89();

}  // namespace CATENA_NAMESPACE::instances
