#include "measured.hpp"

#include "fields.hpp"

#include "catena/pick/measured.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <numeric>
#include <utility>

namespace catena::tool {
namespace {

/// By the text of a problem: where it occurs, in the order of launches.
using occurrences = std::map<std::string, std::vector<int>>;

/// A launch that begins or ends a norm is the one without it: it takes about as long.
std::string key_of(const problem& p) {
    return generator::problem_json(p.visit([](const auto& own) { return problem(raced(own)); }))
        .dump();
}

std::vector<std::string> keys_of(const launch_record& record) {
    std::vector<std::string> out;
    for (const recorded_step& s : record.steps) out.push_back(key_of(s.what));
    return out;
}

occurrences occurrences_in(const recorded_walk& walk, const std::vector<std::string>& keys) {
    occurrences out;
    for (std::size_t i = 0; i < walk.launches.size(); ++i)
        if (const int step = walk.launches[i].step; step >= 0)
            out[keys[static_cast<std::size_t>(step)]].push_back(static_cast<int>(i));
    return out;
}

/// The plan's steps in the order of their launches.
std::vector<int> launched(const explanation& plan) {
    std::vector<int> out(plan.steps.size());
    std::iota(out.begin(), out.end(), 0);
    std::stable_sort(out.begin(), out.end(), [&](int a, int b) {
        return plan.steps[static_cast<std::size_t>(a)].launch_at <
               plan.steps[static_cast<std::size_t>(b)].launch_at;
    });
    return out;
}

/// Steps that have a time in the walk, and how far the numbers of launches are apart.
std::pair<int, int> fit(const occurrences& plan, const occurrences& walk) {
    int shared = 0, apart = 0;
    for (const auto& [key, steps] : plan)
        if (walk.count(key) != 0) shared += static_cast<int>(steps.size());
    for (const auto& [key, at] : walk) {
        const auto found = plan.find(key);
        const std::size_t steps = found == plan.end() ? 0 : found->second.size();
        apart += std::abs(static_cast<int>(at.size()) - static_cast<int>(steps));
    }
    return {shared, -apart};
}

/// The launch of the walk whose time is the median of those `at`.
int median_of(const recorded_walk& walk, std::vector<int> at) {
    const auto middle = at.begin() + static_cast<std::ptrdiff_t>(at.size() / 2);
    std::nth_element(at.begin(), middle, at.end(), [&](int a, int b) {
        return walk.launches[static_cast<std::size_t>(a)].us <
               walk.launches[static_cast<std::size_t>(b)].us;
    });
    return *middle;
}

/// The engine's kernels from `at` on, backward or forward up to a launch of Catena.
std::vector<int> engine_from(const recorded_walk& walk, int at, int direction) {
    std::vector<int> out;
    const int end = static_cast<int>(walk.launches.size());
    for (at += direction; at >= 0 && at < end; at += direction) {
        if (walk.launches[static_cast<std::size_t>(at)].step >= 0) break;
        out.push_back(at);
    }
    if (direction < 0) std::reverse(out.begin(), out.end());
    return out;
}

}  // namespace

bool measured_plan::slower(const explanation& plan, std::size_t step) const {
    return steps[step] && steps[step]->planned &&
           steps[step]->us > slower_than_predicted * plan.steps[step].predicted_us;
}

measured_plan join(const launch_record& record, const explanation& plan) {
    const std::vector<int> order = launched(plan);
    occurrences wanted;
    for (const int i : order)
        wanted[key_of(plan.steps[static_cast<std::size_t>(i)].what)].push_back(i);
    const std::vector<std::string> keys = keys_of(record);

    measured_plan out;
    out.from = record;
    out.from.steps.clear(), out.from.walks.clear();
    out.steps.resize(plan.steps.size());
    std::pair<int, int> best{0, 0};
    occurrences there;
    for (const recorded_walk& walk : record.walks) {
        occurrences these = occurrences_in(walk, keys);
        const std::pair<int, int> found = fit(wanted, these);
        if (found.first == 0 || (best.first != 0 && found <= best)) continue;
        best = found, out.walk = walk, there = std::move(these);
    }

    std::vector<int> own(plan.steps.size(), -1);  // the step's own launch in the walk
    for (const auto& [key, steps] : wanted) {
        const auto found = there.find(key);
        if (found == there.end()) continue;
        const std::vector<int>& at = found->second;
        const bool one_for_one = at.size() == steps.size();
        for (std::size_t k = 0; k < steps.size(); ++k) {
            const auto i = static_cast<std::size_t>(steps[k]);
            const int launch = one_for_one ? at[k] : median_of(out.walk, at);
            if (one_for_one) own[i] = launch;
            const recorded_launch& l = out.walk.launches[static_cast<std::size_t>(launch)];
            const std::string& instance = record.steps[static_cast<std::size_t>(l.step)].instance;
            const bool same = instance == plan.steps[i].instance;
            out.steps[i] = {l.us,
                            one_for_one ? l.gap_us : 0,
                            instance,
                            same,
                            one_for_one ? 1 : static_cast<int>(at.size()),
                            {}};
            (same ? out.same : out.other).add(l.us, plan.steps[i].predicted_us);
        }
    }

    for (std::size_t i = 0; i < out.steps.size(); ++i) {
        if (!out.steps[i]) ++out.without_time;
        if (out.slower(plan, i)) out.slow.add(out.steps[i]->us, plan.steps[i].predicted_us);
    }

    int before = -1;  // the launch of Catena before, in the plan; -1: this one is the first
    for (std::size_t k = 0; k < order.size(); ++k) {
        const auto i = static_cast<std::size_t>(order[k]);
        if (own[i] >= 0) {
            std::vector<int> engine = engine_from(out.walk, own[i], -1);
            const int previous = own[i] - static_cast<int>(engine.size()) - 1;
            if (previous == (k == 0 ? -1 : before)) out.steps[i]->engine = std::move(engine);
        }
        before = own[i] >= 0 ? own[i] : -2;
    }
    if (before >= 0) {
        std::vector<int> engine = engine_from(out.walk, before, 1);
        if (before + engine.size() + 1 == out.walk.launches.size())
            out.engine_after = std::move(engine);
    }
    return out;
}

}  // namespace catena::tool
