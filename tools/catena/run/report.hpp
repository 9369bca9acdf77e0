// What `catena run` did, as text and as JSON.
#pragma once

#include "check.hpp"

#include "catena/engine/json.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace catena::tool {

struct run_report {
    const json::graph& graph;
    const plan& planned;
    std::string machine;
    check_options asked;
    std::vector<step_result> results;  ///< of the first steps of the plan

    bool ok() const {
        return std::all_of(results.begin(), results.end(),
                           [](const step_result& r) { return r.ok(); });
    }
};

std::string as_text(const run_report& r);
std::string as_json(const run_report& r);

}  // namespace catena::tool
