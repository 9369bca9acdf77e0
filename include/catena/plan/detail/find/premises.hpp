// What a planner knows before it sees a graph: the table, the options, and what follows from the
// two alone.
#pragma once

#include "catena/match/pattern.hpp"
#include "catena/pick/row_index.hpp"
#include "catena/plan/detail/owned.hpp"
#include "catena/plan/detail/switches.hpp"
#include "catena/plan/options.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace CATENA_NAMESPACE {

/// Chains of a table that find the same values, such as "norm_input" and "norm_input.fp8". The
/// readers of such a value may be any of theirs.
struct family {
    struct member {
        std::int32_t chain;  ///< index into the table
        pattern alone;
    };
    pattern common;  ///< its readers: those of all its chains
    std::vector<member> chains;
};

/// The families of a table, the longest chains first, because these are tried first.
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

struct premises : detail::owned {
    row_index rows;
    options asked;
    std::vector<family> families;
    std::int32_t heads = -1;           ///< chain of launches of heads, or -1
    std::int32_t attention = -1;       ///< chain of launches of heads that attend, or -1
    std::int32_t convolution = -1;     ///< chain of launches of heads that are convolved, or -1
    std::int32_t delta_rule = -1;      ///< chain of launches of heads that are recalled, or -1
    std::int32_t scan = -1;            ///< chain of launches of heads that are scanned, or -1
    std::int32_t routing = -1;         ///< chain of launches of routing, or -1
    std::int32_t routed_experts = -1;  ///< chain of launches of experts that route, or -1
    std::int32_t turned = -1;          ///< chain of matrices whose results are turned, or -1
    format_set norms_inside;           ///< weights of the matvecs that make their activation
    int norm_columns = 0;              ///< most columns of those matvecs

    /// The family of matrices that read what queries attend to, or null.
    const family* readers_of_attention() const {
        const auto found = std::find_if(families.begin(), families.end(), [](const family& f) {
            return f.common.stages.has(stage_kind::attend);
        });
        return found == families.end() ? nullptr : &*found;
    }

    premises(const table& given, const options& o)
        : rows(given), asked(o), families(families_of(rows.rows(), o)) {
        const table& t = rows.rows();
        for (std::int32_t c = 0; c < t.chain_count; ++c) {
            if (switched_off(asked, t.chains[c].name)) continue;
            const stage_set stages = chain::row_part(t.chains[c]).stages;
            if (has_heads(stages))
                (convolves(stages) ? convolution
                 : recalls(stages) ? delta_rule
                 : scans(stages)   ? scan
                 : attends(stages) ? attention
                                   : heads) = c;
            if (chain::turns_heads(t.chains[c])) turned = c;
            if (routes(stages))
                (chain::weights_of(t.chains[c]).empty() ? routing : routed_experts) = c;
        }
        for (int i = 0; t.rows != nullptr && i < t.row_count; ++i) {
            const row& r = t.rows[i];
            if (placement_of(r.policy) == norm_placement::producer) continue;
            norms_inside = norms_inside | r.computes.product().weights;
            norm_columns = std::max(norm_columns, r.policy.matvec().columns);
        }
    }
};

}  // namespace CATENA_NAMESPACE
