// Generated from generators/catalogue.hpp and generators/policies.cpp: do not edit, regenerate. Hash 920396af12087ef7.
// The instance set of sm_86 (RTX 3090): link catena::instances_sm_86.
#pragma once

#include "catena/pick/row.hpp"

namespace CATENA_NAMESPACE::instances {

/// The table. Without CUDA its rows are described and their kernels are missing.
catena::table sm_86();

}  // namespace CATENA_NAMESPACE::instances
