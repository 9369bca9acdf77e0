// The measured times of a plan's steps, where a record has them. A step is known by its problem:
// what it computes, shapes, formats and columns. Names of models decide nothing.
#pragma once

#include "launch_record.hpp"

#include "catena/plan/explain.hpp"

#include <optional>
#include <string>
#include <vector>

namespace catena::tool {

/// A step that takes more of its prediction than this stands out.
inline constexpr double slower_than_predicted = 1.25;

struct measured_step {
    double us = 0, gap_us = 0;
    std::string instance;     ///< that was measured
    bool planned = true;      ///< it is the plan's
    int launches = 1;         ///< that `us` is the median of: 1 is the step's own launch, for the
                              ///< record has this problem as often as the plan
    std::vector<int> engine;  ///< the engine's kernels between the step before it and it, where
                              ///< both are neighbors in the record, too: indices into walk.launches
};

/// Sums over steps, each with both times.
struct measured_sum {
    int steps = 0;
    double us = 0, predicted_us = 0;

    void add(double measured, double predicted) {
        ++steps, us += measured, predicted_us += predicted;
    }
};

struct measured_plan {
    launch_record from;  ///< without steps and walks
    recorded_walk walk;  ///< that has most of the plan's steps; without launches: none has any
    std::vector<std::optional<measured_step>> steps;  ///< of the plan
    std::vector<int> engine_after;                    ///< the engine's kernels behind the last step
    measured_sum same;     ///< of steps that ran as the instance that is planned
    measured_sum slow;     ///< of those that `slower` names
    measured_sum other;    ///< of steps that ran as another instance
    int without_time = 0;  ///< steps whose problem the walk does not have

    /// Does the step take more than a quarter longer than predicted? A step that ran as another
    /// instance has no prediction to hold against it.
    bool slower(const explanation& plan, std::size_t step) const;
};

/// The times of the plan's steps in the record's walk that has most of them.
measured_plan join(const launch_record& record, const explanation& plan);

}  // namespace catena::tool
