// The chains of a table as the planner looks for them: those that find the same values (such as
// "norm_input" and "norm_input.fp8") are one family, whose readers may be any of theirs. Longer
// ones are tried first.
#pragma once

#include "catena/match/pattern.hpp"
#include "catena/pick/row.hpp"
#include "catena/plan/detail/switches.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace CATENA_NAMESPACE {

struct family {
    struct member {
        std::int32_t chain;  ///< index into the table
        pattern alone;
    };
    pattern common;  ///< its readers: those of all its chains
    std::vector<member> chains;
};

inline std::vector<family> families_of(const table& t, const options& asked) {
    std::vector<family> out;
    for (std::int32_t c = 0; c < t.chain_count; ++c) {
        if (switched_off(asked, t.chains[c].name)) continue;
        pattern p = pattern_of(t.chains[c]);
        const format_set off = formats_off(asked, t.chains[c]);
        p.dense = p.dense.without(off);
        p.expert = p.expert.without(off);
        if (!p.known || (p.dense | p.expert).empty()) continue;
        const auto same = std::find_if(out.begin(), out.end(),
                                       [&p](const family& f) { return same_family(f.common, p); });
        if (same == out.end()) {
            out.push_back({p, {{c, p}}});
            continue;
        }
        same->common.activations = same->common.activations | p.activations;
        same->common.dense = same->common.dense | p.dense;
        same->common.expert = same->common.expert | p.expert;
        same->chains.push_back({c, p});
    }
    std::stable_sort(out.begin(), out.end(), [](const family& a, const family& b) {
        return a.common.stages.size() > b.common.stages.size();
    });
    return out;
}

/// The chain of a family by which a value is reported: the first that lists most of the formats of
/// its matrices and, among equals, the fewest others.
inline std::int32_t chain_for(const family& f, format_set dense, format_set expert) {
    std::int32_t best = -1;
    int listed = -1;
    int besides = 0;
    for (const auto& [c, p] : f.chains) {
        const format_set both{(p.dense.bits & dense.bits) | (p.expert.bits & expert.bits)};
        const int spare = (p.dense | p.expert).size();
        if (both.size() < listed || (both.size() == listed && spare >= besides)) continue;
        best = c;
        listed = both.size();
        besides = spare;
    }
    return best;
}

}  // namespace CATENA_NAMESPACE
