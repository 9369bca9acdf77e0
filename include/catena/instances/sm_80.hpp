// Generated from generators/catalogue.hpp and generators/policies.cpp: do not edit, regenerate. Hash 303817ec0d401fad.
// The instance set of sm_80 (A100 SXM): link catena::instances_sm_80.
#pragma once

#include "catena/pick/row.hpp"

namespace catena::instances {

/// The table. Without CUDA its rows are described and their kernels are missing.
catena::table sm_80();

}  // namespace catena::instances
