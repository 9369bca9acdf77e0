// The sum over a token's experts: made by the launch that makes what is added up, or left to the norm
// behind it. What each should take decides.
#pragma once

#include "catena/plan/build.hpp"

#include <algorithm>

namespace catena {

/// Does the launch of these experts with their sum, and a norm of it, take less than the launch without,
/// and a norm that makes the sum? Of a group without members yet. What no norm makes is the engine's.
inline bool plan_builder::combining_pays(const problem& group, const output& apart,
                                         const output& together) {
    problem with = group, without = group;
    add_member(view_, with, together, false, true);
    add_member(view_, without, apart, false, true);
    const auto norms = [this](const use& u) { return g_.kind(u.node) == op::rms_norm; };
    if (!std::any_of(g_.readers_begin(together.result), g_.readers_end(together.result), norms))
        return pick(with).row >= 0;
    return combining_.of(with, [&] {
        problem row;
        row.needs.kind = skeleton::row;
        row.needs.value = value_kind::rms_norm;
        row.needs.scale = true;
        row.needs.emits = format_set::of(format::q8_1);
        row.k = row.quant_k = view_.at(together.result).ne[0];
        row.rows = with.tokens;
        problem adding = row;
        adding.needs.experts = adding.sum = true;
        adding.needs.residual = together.residual != no_tensor;
        adding.slots = slots_of(with);
        const picked one = pick(with), two = pick(without), adds = pick(adding), reads = pick(row);
        if (one.row < 0 || two.row < 0 || adds.row < 0 || reads.row < 0) return one.row >= 0;
        if (!one.measured && two.measured && adds.measured) return false;
        return one.predicted_us + reads.predicted_us < two.predicted_us + adds.predicted_us;
    });
}

}  // namespace catena
