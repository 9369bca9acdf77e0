// Launches of routing in plain loops; see launch.hpp.
#pragma once

#include "memory.hpp"
#include "operands.hpp"

#include "catena/pick/row.hpp"

namespace catena_test {

/// What a launch of routing, or of experts that it finds itself, asks of a row with these stages.
void judge_routes(const catena::route_args& a, int most_experts, catena::stage_set stages,
                  machine& m, operands& ops);
void judge_routed(const catena::row& r, const catena::matvec_args& a, machine& m, operands& ops);
/// Writes the experts of each token, and their weights.
void compute_routes(const catena::route_args& a);

/// Does what the arguments of a launch of routing say, by row `r`.
void launch_routes(const catena::row& r, const catena::route_args& a, machine& m);

}  // namespace catena_test
