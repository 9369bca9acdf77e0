// Where candidates are timed: a GPU, or a simulated one. It also keeps the clock that a budget is
// kept by.
#pragma once

#include "tuning.hpp"

#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace catena::tune {

using generator::tuned_candidate;
using generator::tuned_on;
using generator::tuned_problem;

/// What came of preparing one candidate.
struct prepared {
    std::string fault;  ///< empty: it compiled, and its result is right
    int registers = 0;
    launch_shape shape = {};  ///< of its launch; no resident blocks: nothing was launched
};

/// A candidate broke the device: this process can run nothing more on it.
struct device_broken : std::runtime_error {
    int candidate;
    device_broken(int who, const std::string& how) : std::runtime_error(how), candidate(who) {}
};

class timing_device {
  public:
    virtual ~timing_device() = default;

    virtual tuned_on who() const = 0;

    /// Seconds.
    virtual double now() = 0;

    /// Prepares the open candidates of a problem and checks the result of each: bit for bit against
    /// that of another candidate of the same order, else within a tolerance. One entry for every
    /// candidate. Nothing: it would take longer than `deadline`, or was interrupted. Problems
    /// prepared before are given up. Throws device_broken.
    virtual std::optional<std::vector<prepared>> prepare(const tuned_problem& p,
                                                         double deadline) = 0;

    /// Microseconds of one launch of a candidate, measured for the `nth` time. Nothing: as above.
    virtual std::optional<double> sample(int candidate, int nth, double deadline) = 0;
};

}  // namespace catena::tune
