#include "tuner.hpp"

#include "code.hpp"
#include "race.hpp"
#include "space.hpp"

#include "catena/pick/name.hpp"

#include <algorithm>
#include <stdexcept>

namespace catena::tune {

namespace {

/// Drops what does not compile or computes something else. False: the device gave up.
bool prepare(tuned_problem& p, timing_device& on, double deadline) {
    const auto found = on.prepare(p, deadline);
    if (!found) return false;
    for (std::size_t i = 0; i < p.candidates.size(); ++i) {
        tuned_candidate& c = p.candidates[i];
        if (c.is != verdict::open) continue;
        c.registers = (*found)[i].registers;
        c.shape = (*found)[i].shape;
        c.why = (*found)[i].fault;
        if (!c.why.empty()) c.is = verdict::failed, c.us.clear();
    }
    return true;
}

bool race(tuned_problem& p, timing_device& on, double deadline,
          const std::function<bool(int)>& go_on) {
    for (int next = next_candidate(p); next >= 0; next = next_candidate(p)) {
        tuned_candidate& c = p.candidates[static_cast<std::size_t>(next)];
        if (!go_on(next)) return false;
        const auto us = on.sample(next, static_cast<int>(c.us.size()), deadline);
        if (!us) return false;
        c.us.push_back(*us);
    }
    decide(p);
    return true;
}

int open_candidates(const tuned_problem& p) {
    return static_cast<int>(
        std::count_if(p.candidates.begin(), p.candidates.end(),
                      [](const tuned_candidate& c) { return c.is == verdict::open; }));
}

/// Rows with the counts of machine code that those on record make likely.
std::vector<row> counted(std::vector<row> rows, const std::vector<row>& recorded) {
    for (row& r : rows) r.code = code_like(r, recorded);
    return rows;
}

}  // namespace

tuning blank(const arch& target, const described_set& set, const std::vector<shape>& shapes,
             const tuned_on& on, const budget& within) {
    tuning out = {.arch = target.name, .on = on, .problems = {}};
    std::vector<std::pair<computation, std::vector<row>>> spaces;
    for (const shape& s : shapes) {
        auto space = std::find_if(spaces.begin(), spaces.end(),
                                  [&](const auto& known) { return known.first == s.computes; });
        if (space == spaces.end())
            space = spaces.insert(spaces.end(), {s.computes, counted(space_of(target, s.computes),
                                                                     set.rows_of(s.computes))});
        tuned_problem p = {
            .computes = s.computes, .what = s.what, .places = s.places, .candidates = {}};
        for (const candidate& c : candidates_of(space->second, set.rows_of(s.computes), s.what,
                                                target, within.candidates))
            p.candidates.push_back(
                {.policy = c.what.policy, .predicted_us = c.predicted_us, .why = {}, .us = {}});
        out.problems.push_back(std::move(p));
    }
    return out;
}

void resume(tuning& t, const tuning& earlier, const std::string& file) {
    const auto differ = [&](const char* what, const std::string& then, const std::string& now) {
        if (then != now)
            throw std::runtime_error(file + " was measured with another " + what + " (" + then +
                                     ", now " + now + "): give another --out, or do not --resume");
    };
    differ("arch", earlier.arch, t.arch);
    differ("GPU", earlier.on.gpu, t.on.gpu);
    differ("driver", earlier.on.driver, t.on.driver);
    differ("CUDA toolkit", earlier.on.cuda, t.on.cuda);
    for (const tuned_problem& known : earlier.problems) {
        const auto same = std::find_if(t.problems.begin(), t.problems.end(), [&](const auto& p) {
            return p.what == known.what && p.computes == known.computes;
        });
        if (same == t.problems.end())
            t.problems.push_back(known);
        else
            *same = known;
    }
}

bool tune(tuning& t, timing_device& on, const budget& within, const watcher& watch) {
    const double deadline = on.now() + within.seconds;
    const int problems = static_cast<int>(t.problems.size());
    for (int i = 0; i < problems; ++i) {
        tuned_problem& p = t.problems[static_cast<std::size_t>(i)];
        if (p.decided) continue;
        const auto go_on = [&](int) {
            if (watch.stop && watch.stop()) return false;
            if (watch.show)
                watch.show({i, problems, open_candidates(p), deadline - on.now(), text(p.what)});
            return true;
        };
        try {
            if (!go_on(0) || !prepare(p, on, deadline) || !race(p, on, deadline, go_on))
                return false;
        } catch (const device_broken& e) {  // written down, or whoever goes on would meet it again
            tuned_candidate& c = p.candidates[static_cast<std::size_t>(e.candidate)];
            c.is = verdict::failed, c.why = e.what(), c.us.clear();
            if (watch.decided) watch.decided(t);
            throw;
        }
        if (watch.decided) watch.decided(t);
    }
    return true;
}

namespace {

std::string text(const row_problem& p) {
    return chain_part(p.needs) + " " + std::to_string(p.k) + " x " + std::to_string(p.rows);
}
std::string text(const product_problem& p) {
    return formats_part(p.needs.weights) + " " + std::to_string(p.k) + " x " +
           std::to_string(rows_of(p)) + (p.expert ? " of experts" : "") + ", " +
           std::to_string(p.columns) + (p.columns == 1 ? " column" : " columns");
}

}  // namespace

std::string text(const problem& p) {
    return p.visit([](const auto& own) { return text(own); });
}

}  // namespace catena::tune
