// The functions that catena/runtime.hpp declares. One source of an engine includes this header, or
// the engine links the library catena::planner, which is that source compiled.
#pragma once

#include "catena/plan/detail/environment.hpp"
#include "catena/plan/detail/fingerprint.hpp"
#include "catena/plan/detail/ordering.hpp"
#include "catena/plan/detail/planning.hpp"
#include "catena/plan/detail/result/answers.hpp"
#include "catena/plan/detail/result/launch.hpp"
#include "catena/plan/detail/verify/verifier.hpp"
