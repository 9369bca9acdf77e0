// Tunes problem after problem on a device, within a budget of time, from where a record stands.
#pragma once

#include "device.hpp"
#include "shapes.hpp"

#include <functional>

namespace catena::tune {

using generator::tuning;

struct budget {
    double seconds = 300;
    std::size_t candidates = 16;  ///< of a problem, besides those listed by hand
};

/// How far it is, for a line about it.
struct progress {
    int problem = 0, problems = 0;  ///< the one at hand, of all
    int candidates = 0;             ///< still in its race
    double left_s = 0;              ///< of the budget
    std::string what;               ///< the problem
};

struct watcher {
    std::function<void(const progress&)> show;
    std::function<bool()> stop;  ///< asked before every measurement
    /// A problem was decided, or a candidate broke the device: a moment to write it down.
    std::function<void(const tuning&)> decided;
};

/// A record of what is to be tuned, nothing measured yet: problems in the order of `shapes`, each
/// with its candidates.
tuning blank(const arch& target, const described_set& set, const std::vector<shape>& shapes,
             const tuned_on& on, const budget& within);

/// Takes over what an earlier record knows of the same problems, and keeps what it knows of others.
/// Throws std::runtime_error when it is of another arch, GPU, driver or toolkit.
void resume(tuning& t, const tuning& earlier, const std::string& file);

/// Goes on until everything is decided, the budget is spent or `stop` says so. True: all is
/// decided. No measurement begins that the budget does not hold. A candidate that broke the device
/// has failed in `t`, and device_broken is thrown: to go on takes another process.
bool tune(tuning& t, timing_device& on, const budget& within, const watcher& watch);

/// "q4_K 4096 x 6144, 1 column"
std::string text(const problem& p);

}  // namespace catena::tune
