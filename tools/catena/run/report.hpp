// What `catena run` did, as text and as JSON.
#pragma once

#include "../failure.hpp"
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

    std::int64_t steps(verdict v) const {
        return std::count_if(results.begin(), results.end(),
                             [v](const step_result& r) { return r.outcome() == v; });
    }
    /// 0: all steps agree; 1: some do not; 3: all that ran do, but this build cannot run all.
    int exit_code() const {
        return steps(verdict::failed) + steps(verdict::follows) > 0 ? exit_check_failed
               : steps(verdict::not_run) > 0                        ? exit_incomplete
                                                                    : exit_ok;
    }
};

std::string as_text(const run_report& r);
std::string as_json(const run_report& r);

}  // namespace catena::tool
