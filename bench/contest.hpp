// Contenders timed in turns by Google Benchmark: each sample is one repetition of its own, taken in
// random order, so that clocks and heat fall on all alike. The time is the contender's own.
#pragma once

#include "statistics.hpp"

#include <functional>
#include <string>
#include <vector>

namespace catena::bench {

struct contender {
    std::string name;                   ///< different from the others'
    std::function<double()> sample_us;  ///< runs it once; microseconds of what it stands for
};

/// `rounds` samples of each; entry i is of contenders[i].
std::vector<tune::summary> contest(const std::vector<contender>& contenders, int rounds);

}  // namespace catena::bench
