// Which rows of a set are worth what they cost: an engine that knows its models gives a budget.
#pragma once

#include "code_cost.hpp"
#include "needed.hpp"

#include <string>
#include <vector>

namespace catena::generator {

/// What the set of an arch may cost at most, and what its rows cost.
struct budget {
    enum class unit { bytes, seconds } in = unit::bytes;
    double most = 0;
    std::vector<double> costs;  ///< of each row of the set
    double base = 0;            ///< what the set costs besides its rows

    std::string text(double cost) const;  ///< with the unit
};

/// A budget of machine code: the bytes of all kernels.
budget budget_of_bytes(double most, const code_costs& of);

/// A budget of a build: nvcc's processor time for the files of a set, one of each skeleton.
budget budget_of_seconds(double most, const code_costs& of);

/// A row that a budget left out, and what the set that was kept would gain by it.
struct left_out_row {
    row what;
    double cost = 0;
    struct gain {
        std::string file;      ///< the graph's, or its shape
        double predicted_us;   ///< of one step of the graph
        double share_of_step;  ///< of the time that the step takes without the row
    };
    std::vector<gain> gains;  ///< graphs whose time stays as it is are not among them
};

struct weighed_set {
    std::vector<left_out_row> left_out;  ///< the last that went first
    double cost = 0;                     ///< of what was kept
    int plans = 0;                       ///< that were made to weigh the rows
};

/// Drops rows of `set` until it is within the budget. A row is worth the share of its step that
/// each graph would lose without it, summed over `graphs`, for what it costs: the row worth least
/// goes first, then those are weighed anew whose plans launched it. Times are those of the cost
/// model; a node that is left to the engine costs a launch and its bytes. Throws
/// std::runtime_error, naming the smallest row, if no row fits the budget.
weighed_set keep_within(instance_set& set, const budget& within, const catalogue& all,
                        const std::vector<json::graph>& graphs);

/// A line for each row that was left out, and one about the set.
std::string to_text(const weighed_set& set, const budget& within, const arch& target);

}  // namespace catena::generator
