// How well the cost model foretells the decode steps of whole models: the sum of Catena's launches
// against the time that traces of every kernel give them.
#pragma once

#include "catena/pick/row.hpp"

#include <string>
#include <vector>

namespace catena::tune {

struct walk_sum {
    std::string model;
    int sequences = 0;
    int steps = 0;
    double measured_us = 0;  ///< of Catena's kernels, that no earlier kernel hides
    double predicted_us = 0;
};

/// The walks of a record such as bench/results/walks.sm_90.2026-11-26.json, with today's model.
/// Throws std::runtime_error that names `file` and what is wrong with it.
std::vector<walk_sum> walks_of(const std::string& record, const std::string& file, const arch& a,
                               const std::vector<row>& recorded);

/// The sums as a table.
std::string text(const std::vector<walk_sum>& walks, const std::string& file);

}  // namespace catena::tune
