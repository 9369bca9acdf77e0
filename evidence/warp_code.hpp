// What a warp of a matvec issues for a stage of its ring, and for the results of a group of rows:
// the shortest way through its machine code. The rows' records have it (registers.hpp), and the
// cost model reads it.
#pragma once

#include "sass.hpp"

#include "catena/pick/row.hpp"

namespace catena::evidence {

/// `f`: the code of a row. Nothing where `r` is no matvec, or no loop fills and multiplies.
warp_codes warp_code_of(const row& r, const sass_function& f);

/// Cycles from the issue of an instruction until what it brings late is there: of shared memory and
/// of L1 on an H100, by published microbenchmarks; the same is assumed of all archs.
int latency_of(sass_kind kind);

}  // namespace catena::evidence
