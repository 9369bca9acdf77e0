// The layout that matmuls of one value read: what is quickest for each alone may take two launches
// and two writings of the value where one would do.
#pragma once

#include "catena/plan/build.hpp"

#include <algorithm>
#include <limits>
#include <vector>

namespace catena {

/// What the launches of mates_ take in the layouts that they have now, and the step that writes
/// those.
inline double plan_builder::time_of(const match& m) {
    double us = 0;
    const auto add = [&](const problem& p) {
        const picked& found = pick(p);
        us += found.row < 0 ? std::numeric_limits<double>::infinity() : found.predicted_us;
    };
    problem writing = row_problem(view_, m, layouts_of(m));
    if (m.kind == value_kind::plain) writing.needs.emits = layouts_of(m);  // f32 is there
    add(writing);
    for (std::size_t i = 0; i < mates_.size(); ++i) {
        const reader& first = *mates_[i];
        const auto joins = [&](const reader* r) {
            return r->weight == first.weight && one_launch(first, *r);
        };
        if (std::any_of(mates_.begin(), mates_.begin() + static_cast<std::ptrdiff_t>(i), joins))
            continue;
        problem p;
        start_group(view_, p, first.served_by, first.layout, first.node);
        for (std::size_t j = i; j < mates_.size() && p.member_count < max_members; ++j)
            if (joins(mates_[j]))
                add_member(view_, p, plain_output(view_, mates_[j]->node), false, true);
        add(p);
    }
    return us;
}

/// Where matmuls would read several layouts, all of them could read bf16, or all int8: what takes
/// least counts, the value's writing included.
inline void plan_builder::agree(const pattern& chain, match& m) {
    if (layouts_of(m).size() < 2 || known_.asked.pick.same_bits) return;
    mates_.clear();
    std::vector<format> best;
    for (reader& r : m.readers) {
        if (!r.servable() || r.served_by != skeleton::matmul || is_number(r.weight)) continue;
        mates_.push_back(&r);
        best.push_back(r.layout);
    }
    const auto read = [this](const std::vector<format>& by) {
        for (std::size_t i = 0; i < by.size(); ++i) mates_[i]->layout = by[i];
    };
    const std::vector<format> apart = best;
    double least = time_of(m);
    for (const bool bf16 : {true, false}) {
        std::vector<format> by = apart;
        for (std::size_t i = 0; i < by.size(); ++i) {
            const reader& r = *mates_[i];
            const format asked = bf16 ? format::bf16_mma : matmul_layout(r.weight);
            const bool fits = chain.activations.has(asked) &&
                              alone(r.node, format_set::of(asked)).nearest.why == limit::none;
            if (fits) by[i] = asked;
        }
        read(by);
        const double us = time_of(m);
        if (us < least) least = us, best = by;
    }
    read(best);
}

}  // namespace catena
