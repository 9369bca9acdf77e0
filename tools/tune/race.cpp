#include "race.hpp"

#include "simplicity.hpp"

#include <algorithm>
#include <vector>

namespace catena::tune {

namespace {

int samples_of(const tuned_candidate& c) { return static_cast<int>(c.us.size()); }

std::vector<tuned_candidate*> field_of(tuned_problem& p) {
    std::vector<tuned_candidate*> field;
    for (tuned_candidate& c : p.candidates)
        if (c.is == verdict::open) field.push_back(&c);
    return field;
}

/// The field with its summaries, the fastest first. Noise is the machine's more than a candidate's,
/// and five samples can lie close together by chance: no spread counts for less than the usual one.
struct standing {
    tuned_candidate* who;
    summary is;
};
std::vector<standing> standings(const std::vector<tuned_candidate*>& field) {
    std::vector<standing> out;
    std::vector<double> spreads;
    for (tuned_candidate* c : field) {
        out.push_back({c, summary_of(c->us)});
        spreads.push_back(out.back().is.spread);
    }
    const double usual = summary_of(spreads).median;
    for (standing& s : out) s.is.spread = std::max(s.is.spread, usual);
    std::stable_sort(out.begin(), out.end(), [](const standing& a, const standing& b) {
        return a.is.median < b.is.median;
    });
    return out;
}

/// Whoever this cut has already sent away is in it again, so that to repeat it changes nothing.
void cut(tuned_problem& p, int samples) {
    std::vector<tuned_candidate*> field;
    for (tuned_candidate& c : p.candidates)
        if ((c.is == verdict::open || c.is == verdict::slower) && samples_of(c) == samples)
            field.push_back(&c);
    const std::vector<standing> all = standings(field);
    for (std::size_t i = (all.size() + 1) / 2; i < all.size(); ++i)
        if (really_slower(all[i].is, all.front().is)) all[i].who->is = verdict::slower;
}

}  // namespace

int next_candidate(tuned_problem& p) {
    for (const int target : cuts) {
        const std::vector<tuned_candidate*> field = field_of(p);
        if (field.empty()) return -1;
        const auto least = std::min_element(field.begin(), field.end(), [](auto* a, auto* b) {
            return samples_of(*a) < samples_of(*b);
        });
        if (samples_of(**least) < target) return static_cast<int>(*least - p.candidates.data());
        const bool just_reached = std::all_of(
            field.begin(), field.end(), [target](auto* c) { return samples_of(*c) == target; });
        if (just_reached && target != std::end(cuts)[-1]) cut(p, target);
    }
    return -1;
}

void decide(tuned_problem& p) {
    const std::vector<standing> all = standings(field_of(p));
    tuned_candidate* chosen = nullptr;
    for (const standing& s : all) {
        s.who->is = really_slower(s.is, all.front().is) ? verdict::slower : verdict::tied;
        if (s.who->is == verdict::tied &&
            (chosen == nullptr || generator::simpler(s.who->policy, chosen->policy)))
            chosen = s.who;
    }
    if (chosen != nullptr) chosen->is = verdict::chosen;
    for (tuned_candidate& c : p.candidates) {
        if (c.us.empty()) continue;
        const summary s = summary_of(c.us);
        c.samples = s.samples, c.median_us = s.median, c.spread = s.spread;
        c.us.clear();
    }
    p.decided = true;
}

}  // namespace catena::tune
