// The sum over a token's experts: made by the launch that makes what is added up, or left to the norm
// behind it. What each should take decides.
#pragma once

#include "catena/plan/build.hpp"

#include <algorithm>

namespace catena {

/// Does the launch of these experts with their sum, and a norm of it, take less than the launch without,
/// and a norm that makes the sum? The norm adds what else joins it, a shared expert's result and a
/// residual, in both cases. Of a group without members yet. What no norm makes is the engine's.
inline bool plan_builder::combining_pays(const problem& group, const output& apart,
                                         const output& together) {
    problem with = group, without = group;
    add_member(view_, with, together, false, true);
    add_member(view_, without, apart, false, true);
    const auto normed = [this](std::int32_t value) {
        return std::any_of(g_.readers_begin(value), g_.readers_end(value),
                           [this](const use& u) { return g_.kind(u.node) == op::rms_norm; });
    };
    std::int32_t value = together.result;
    int joins = 0;  // ADDs to the norm's input
    for (use u = g_.only_reader(value); !normed(value) && joins < 2; u = g_.only_reader(value)) {
        if (u.node < 0 || g_.kind(u.node) != op::add) break;
        value = view_.nodes[u.node];
        ++joins;
    }
    if (!normed(value)) return pick(with).row >= 0;
    problem key = with;
    key.slots = joins;
    return combining_.of(key, [&] {
        problem reads;
        reads.needs.kind = skeleton::row;
        reads.needs.value = value_kind::rms_norm;
        reads.needs.scale = true;
        reads.needs.emits = format_set::of(format::q8_1);
        reads.k = reads.quant_k = view_.at(together.result).ne[0];
        reads.rows = with.tokens;
        problem adds = reads;
        const int shared = joins > 1 ? 1 : 0;
        reads.needs.experts = reads.needs.residual = reads.sum = joins > 0;
        if (joins > 0) reads.slots = 1 + shared;
        adds.needs.experts = adds.sum = true;
        adds.needs.residual = joins > 0 || together.residual != no_tensor;
        adds.slots = slots_of(with) + shared;
        const picked launch = pick(with), norm = pick(reads);
        const picked launch_apart = pick(without), norm_of_sum = pick(adds);
        if (launch.row < 0) return false;
        if (launch_apart.row < 0 || norm.row < 0 || norm_of_sum.row < 0) return true;
        if (!launch.measured && launch_apart.measured && norm_of_sum.measured) return false;
        return launch.predicted_us + norm.predicted_us <
               launch_apart.predicted_us + norm_of_sum.predicted_us;
    });
}

}  // namespace catena
