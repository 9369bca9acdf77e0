// Launches that attend, in plain loops; see launch.hpp.
#pragma once

#include "memory.hpp"
#include "operands.hpp"

#include "catena/pick/row.hpp"

#include <vector>

namespace catena_test {

/// What a launch of heads that attends asks of row `r`, and of its own arguments.
void judge_attention(const catena::row& r, const catena::heads_args& a, machine& m, operands& ops);

/// Writes what queries, [k, heads, tokens], attend to, once keys and values are stored.
void attend(const catena::heads_args& a, const std::vector<float>& queries);

}  // namespace catena_test
