// One problem's candidates against each other: successive halving. Pure functions of what was
// measured so far, so that an interrupted race goes on as if nothing had happened.
#pragma once

#include "statistics.hpp"
#include "tuning.hpp"

namespace catena::tune {

using generator::tuned_candidate;
using generator::tuned_problem;
using generator::verdict;

/// After so many samples of each candidate the field is cut.
inline constexpr int cuts[] = {5, 9, 17, 33};

/// The candidate to measure next, in turns, so that clocks and heat fall on all alike; -1: the race
/// is over. At a cut, those go that are really slower than the best and not in the better half:
/// five samples are too few to trust a spread alone.
int next_candidate(tuned_problem& p);

/// Ends a race: of the candidates that are not really slower than the best, the simplest is chosen.
/// Samples become median and spread.
void decide(tuned_problem& p);

}  // namespace catena::tune
