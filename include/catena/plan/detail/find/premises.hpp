// What a planner knows before it sees a graph: the table, the options, and what follows from the
// two alone.
#pragma once

#include "catena/pick/row_index.hpp"
#include "catena/plan/detail/find/families.hpp"
#include "catena/plan/detail/owned.hpp"
#include "catena/plan/options.hpp"

#include <algorithm>
#include <vector>

namespace CATENA_NAMESPACE {

struct premises : detail::owned {
    row_index rows;
    options asked;
    std::vector<family> families;
    std::int32_t heads = -1;           ///< chain of launches of heads, or -1
    std::int32_t routing = -1;         ///< chain of launches of routing, or -1
    std::int32_t routed_experts = -1;  ///< chain of launches of experts that route, or -1
    format_set norms_inside;           ///< weights of the matvecs that make their activation
    int norm_columns = 0;              ///< most columns of those matvecs

    premises(const table& given, const options& o)
        : rows(given), asked(o), families(families_of(rows.rows(), o)) {
        const table& t = rows.rows();
        for (std::int32_t c = 0; c < t.chain_count; ++c) {
            if (switched_off(asked, t.chains[c].name)) continue;
            const stage_set stages = chain::row_part(t.chains[c]).stages;
            if (has_heads(stages)) heads = c;
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
