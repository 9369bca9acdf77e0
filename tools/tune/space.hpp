// The policies that a computation might have on an arch, and the few of them that are worth
// compiling for a problem.
#pragma once

#include "catena/pick/problem.hpp"
#include "catena/pick/row.hpp"

#include <vector>

namespace catena::tune {

/// Every policy that the arch and the kernels can hold, the simplest first. What is thought out by
/// hand (generators/policies.cpp) is among them.
std::vector<row> space_of(const arch& target, const computation& c);

struct candidate {
    row what;
    double predicted_us = 0;
};

/// Rows of a space that may run the problem: the `most` that the cost model likes best, not too
/// many of one kind, for it cannot tell those apart; the best also without its cluster; and of
/// `incumbents` all. Ordered by prediction, of equals the simplest first.
std::vector<candidate> candidates_of(const std::vector<row>& space,
                                     const std::vector<row>& incumbents, const problem& p,
                                     const arch& a, std::size_t most);

}  // namespace catena::tune
