// Everything an engine includes: describe your graph as a graph_view, plan it once, launch steps
// where the plan says so. C++17; no Boost, no iostream; nothing is thrown. The functions are
// defined by catena/planning.hpp, in one source of the engine, or by the library catena::planner.
#pragma once

#include "catena/match/graph.hpp"
#include "catena/plan/cache.hpp"
#include "catena/plan/counters.hpp"
#include "catena/plan/observer.hpp"
#include "catena/plan/optimize.hpp"
#include "catena/plan/options.hpp"
#include "catena/plan/plan.hpp"
#include "catena/plan/planner.hpp"
