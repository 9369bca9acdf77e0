// Launches of heads in plain loops; see launch.hpp.
#pragma once

#include "memory.hpp"
#include "operands.hpp"

#include "catena/pick/row.hpp"

#include <vector>

namespace catena_test {

/// Does what the arguments of a launch of heads say, by row `r`.
void launch_heads(const catena::row& r, const catena::heads_args& a, machine& m);

/// What the result of a matrix is as heads; null: it is none.
const catena::head_member* heads_of(const catena::matvec_args& a, const catena::matvec_member& m);
const catena::head_member* heads_of(const catena::matmul_args& a, const catena::matvec_member& m);

/// What a matvec that turns its results asks of row `r`.
void judge_turned(const catena::row& r, const catena::matvec_args& a, machine& m, operands& ops);
/// Turns and stores the result of a matrix, if it is heads.
void turn_result(const catena::matvec_args& a, const catena::matvec_member& m,
                 std::vector<float>& result);

}  // namespace catena_test
