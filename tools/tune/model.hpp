// How well the cost model foretells what was measured.
#pragma once

#include "tuning.hpp"

#include "catena/pick/config.hpp"
#include "catena/pick/cost/constants.hpp"

#include <string>
#include <vector>

namespace catena::tune {

/// The error of the model on some measurements: predicted over measured, by today's model.
struct model_error {
    std::string of;  ///< a kind of launch; a launch may be of several
    int measurements = 0;
    double typical = 0;    ///< geometric mean of predicted / measured
    double deviation = 0;  ///< geometric: two thirds lie within this factor of it
    double near = 0;       ///< the same, of candidates that take half more than the best at most
    double worst = 0;      ///< the factor that is furthest from 1
    int problems = 0;
    double lost = 0;  ///< mean share of time lost by picking what the model likes best
};

/// What comes of predictions that displace medians (pick/pick.hpp), if each candidate in turn is
/// one that was not timed: how many were faster by one percent than the fastest of the others, and
/// how many slower.
struct displaced_medians {
    int faster = 0, slower = 0;
};

/// A measured candidate of a record, ready to be predicted.
struct measured_candidate {
    row what;
    const problem* asked = nullptr;
    int of_problem = 0;
    launch_shape shape = {};
    double median_us = 0;
};

/// What a record has measured, with the counts of machine code that `recorded` rows have or make
/// likely (code.hpp).
class model_check {
  public:
    model_check(const generator::tuning& t, const arch& a, const std::vector<row>& recorded);

    /// What the model says of each candidate.
    std::vector<double> predicted(const cost_constants& c = with_cold_columns(as_recorded())) const;

    /// What it says with constants that were not fitted to the candidate's problem: the problems
    /// fall into five parts, those of one shape into one, and each part is predicted with constants
    /// that are fitted to the others.
    std::vector<double> predicted_held_back() const;

    /// Errors of predictions, by kind, and all together last; empty when nothing was measured.
    std::vector<model_error> errors(const std::vector<double>& predicted) const;

    displaced_medians displaced(const std::vector<double>& predicted) const;

    /// Constants that are fitted to the problems of all parts but one; of -1 to all.
    cost_constants fitted_without(int part) const;

    static constexpr int parts = 5;

  private:
    const generator::tuning& record_;
    const arch& arch_;
    std::vector<measured_candidate> candidates_;
    std::vector<int> part_of_;  ///< by problem

    double us(const measured_candidate& m, const cost_constants& c) const;
    double misfit(const cost_constants& c, skeleton kind, int without) const;
};

/// The check as a table, or a sentence that there are no measurements.
std::string text(const std::vector<model_error>& today, const std::vector<model_error>& held,
                 const std::string& file);

}  // namespace catena::tune
