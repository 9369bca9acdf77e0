// Generated from generators/catalogue.hpp and generators/policies.cpp: do not edit, regenerate. Hash f6c56f38287246bd.
// The instance set of sm_80 (A100 SXM): link catena::instances_sm_80.
#pragma once

#include "catena/pick/row.hpp"

namespace CATENA_NAMESPACE::instances {

/// The table. Without CUDA its rows are described and their kernels are missing.
catena::table sm_80();

}  // namespace CATENA_NAMESPACE::instances
