// Sentences about a plan: why a node was left, and which rows were rejected for a step.
#pragma once

#include "catena/pick/name.hpp"
#include "catena/pick/verdict.hpp"
#include "catena/plan/step.hpp"

#include <cstdio>
#include <string>
#include <vector>

namespace CATENA_NAMESPACE {

/// `t`: the plan's table, which has the records of its verdicts.
inline std::string sentence(const left_over& l, const table& t) {
    std::string out = sentence(l.what);
    if (l.what.why == reason::engine_faster_in_models) {
        const engine_verdict& told = t.verdicts[l.what.have];
        const char* before = ": ";
        for (int i = 0; i < t.verdict_count; ++i) {
            if (!same_problems(t.verdicts[i], told)) continue;
            char ratio[16];
            std::snprintf(ratio, sizeof(ratio), "%.2fx in ", double{t.verdicts[i].ratio});
            out.append(before).append(ratio).append(t.verdicts[i].record);
            before = ", ";
        }
    }
    if (l.nearest.why != limit::none) out += "; the nearest: " + sentence(l.nearest);
    return out;
}

/// "name: sentence" of every row of `t` that a choice rejected.
inline std::vector<std::string> rejected_rows(const choice& c, const table& t) {
    std::vector<std::string> out;
    for (const rejection& r : c.rejected) out.push_back(row_name(t, r.row) + ": " + sentence(r));
    return out;
}

}  // namespace CATENA_NAMESPACE
