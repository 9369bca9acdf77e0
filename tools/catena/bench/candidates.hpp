// The instances that can serve a shape: each is planned alone, checked against the reference and
// timed or predicted.
#pragma once

#include "../run/check.hpp"
#include "shape.hpp"
#include "statistics.hpp"

#include "catena/pick/row.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace catena::tool {

struct candidate {
    std::string instance;
    std::string why_not;  ///< it cannot serve the shape; empty: it can, and the rest holds
    bool picked = false;  ///< the planner's choice among all of the table
    std::int64_t bytes = 0;
    double predicted_us = 0, attainable_us = 0;
    std::optional<tune::summary> measured;  ///< microseconds; nothing: this machine has no clock
    step_result result;
    bool broke_device = false;  ///< then nothing was tried after it

    bool serves() const { return why_not.empty(); }
    double us() const { return measured ? measured->median : predicted_us; }
    double covered() const { return result.rows > 0 ? result.computed / result.rows : 0; }
};

struct bench_request {
    matmul_shape shape;
    table rows;           ///< as the machines equip it
    std::string pattern;  ///< of instance names: a part of them, * and ? stand for others
    check_options check;
    std::function<std::unique_ptr<machine>()> make_machine;
};

/// About how long the host executor takes for candidates_of, by the values that it multiplies.
double host_seconds(const bench_request& asked);

/// Every group row of the table that takes the weight format and has the pattern in its name:
/// those that agree with the reference first, then those that serve, the fastest first. Throws
/// failure where there is none.
std::vector<candidate> candidates_of(const bench_request& asked);

}  // namespace catena::tool
