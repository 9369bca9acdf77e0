#include "model.hpp"

#include "catena/pick/constraints.hpp"
#include "catena/pick/cost.hpp"
#include "catena/pick/name.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace catena::tune {

namespace {

using generator::tuned_candidate;
using generator::tuned_problem;

/// Predicted by the model of today; the record has that of its day.
double predicted(const tuned_problem& p, const tuned_candidate& c, const arch& a) {
    const row r = {.computes = p.computes,
                   .policy = c.policy,
                   .order = order_of(c.policy),
                   .registers = c.registers,
                   .evidence = {}};
    const int resident =
        constraint(r, p.what, a).why == limit::none ? blocks_per_sm(r, p.what, a) : 0;
    if (resident < 1) return 0;
    return predicted_us(r, p.what, a, band_rows(r, p.what, a, resident), resident);
}

struct sum {
    double logs = 0, squares = 0, furthest = 0, lost = 0;
    int count = 0, problems = 0;

    void add(double ratio) {
        const double log = std::log(ratio);
        logs += log, squares += log * log, ++count;
        if (std::abs(log) > std::abs(furthest)) furthest = log;
    }
    model_error error(const std::string& of) const {
        const double mean = logs / count;
        return {of,
                count,
                std::exp(mean),
                std::exp(std::sqrt(std::max(0.0, squares / count - mean * mean))),
                std::exp(furthest),
                problems,
                problems == 0 ? 0 : lost / problems};
    }
};

}  // namespace

std::vector<model_error> errors_of_model(const generator::tuning& t, const arch& a) {
    std::vector<std::pair<std::string, sum>> sums;
    sum all;
    for (const tuned_problem& p : t.problems) {
        const std::string of = chain_part(p.computes);
        auto at =
            std::find_if(sums.begin(), sums.end(), [&](const auto& s) { return s.first == of; });
        if (at == sums.end()) at = sums.insert(sums.end(), {of, {}});
        double liked_us = 0, liked_takes = 0, best_us = 0;
        for (const tuned_candidate& c : p.candidates) {
            const double us = c.samples > 0 ? predicted(p, c, a) : 0;
            if (us <= 0) continue;
            at->second.add(us / c.median_us);
            all.add(us / c.median_us);
            if (liked_us == 0 || us < liked_us) liked_us = us, liked_takes = c.median_us;
            if (best_us == 0 || c.median_us < best_us) best_us = c.median_us;
        }
        if (best_us == 0) continue;
        for (sum* s : {&at->second, &all}) s->lost += 1 - best_us / liked_takes, ++s->problems;
    }
    std::vector<model_error> out;
    for (const auto& [of, s] : sums)
        if (s.count > 0) out.push_back(s.error(of));
    if (all.count > 0) out.push_back(all.error("all"));
    return out;
}

std::string text(const std::vector<model_error>& errors, const std::string& file) {
    if (errors.empty())
        return file + ": nothing was measured there, so the error of the cost model is not known\n";
    std::string out = "predicted over measured, " + file +
                      "\n     count  typical  deviation   worst  problems  lost by its picks  of\n";
    for (const model_error& e : errors) {
        char line[160];
        std::snprintf(line, sizeof line, "%10d %8.2f %9.2fx %7.2f %9d %17.1f%%  ", e.measurements,
                      e.typical, e.deviation, e.worst, e.problems, 100 * e.lost);
        out += line + e.of + "\n";
    }
    return out;
}

}  // namespace catena::tune
