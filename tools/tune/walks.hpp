// How well the cost model foretells the decode steps of whole models: the sum of Catena's launches
// against the time that traces of every kernel give them.
#pragma once

#include "launch_record.hpp"

#include "catena/pick/row.hpp"

#include <string>
#include <vector>

namespace catena::tune {

struct walk_sum {
    std::string model, load;
    int steps = 0;
    double measured_us = 0;  ///< of Catena's kernels, that no earlier kernel hides
    double predicted_us = 0;
};

/// The walks of a record such as bench/results/launches.h100.2026-11-26.json.gz, with today's
/// model. Throws std::runtime_error that names the file and the instance that no row of `recorded`
/// is like.
std::vector<walk_sum> walks_of(const tool::launch_record& record, const arch& a,
                               const std::vector<row>& recorded);

/// The sums as a table.
std::string text(const std::vector<walk_sum>& walks, const std::string& file);

}  // namespace catena::tune
