// How well the cost model foretells what was measured.
#pragma once

#include "tuning.hpp"

#include <string>
#include <vector>

namespace catena::tune {

/// The error of the model on some measurements: predicted over measured, by today's model.
struct model_error {
    std::string of;  ///< a skeleton, or what a launch computes
    int measurements = 0;
    double typical = 0;    ///< geometric mean of predicted / measured
    double deviation = 0;  ///< geometric: two thirds lie within this factor of it
    double worst = 0;      ///< the factor that is furthest from 1
    int problems = 0;
    double lost = 0;  ///< mean share of time lost by picking what the model likes best
};

/// By what is computed, and all together last; empty when nothing was measured.
std::vector<model_error> errors_of_model(const generator::tuning& t, const arch& a);

/// A table of them, or a sentence that there are no measurements.
std::string text(const std::vector<model_error>& errors, const std::string& file);

}  // namespace catena::tune
