// Everything an engine includes: describe your graph as a graph_view, plan it once, launch steps
// where the plan says so. C++17; no Boost, no iostream; nothing is thrown.
#pragma once

#include "catena/arch/arch.hpp"
#include "catena/chain/lowered.hpp"
#include "catena/exec/launch.hpp"
#include "catena/format/format.hpp"
#include "catena/match/graph.hpp"
#include "catena/pick/join.hpp"
#include "catena/pick/name.hpp"
#include "catena/pick/row.hpp"
#include "catena/plan/cache.hpp"
#include "catena/plan/optimize.hpp"
#include "catena/plan/plan.hpp"
#include "catena/plan/planner.hpp"
#include "catena/plan/result/launch.hpp"
