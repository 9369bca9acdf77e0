// Norms in the launch of their readers (policy.placement): where nobody reads a norm but the
// matrices of one launch, that launch can make it, and the row step goes away. The table says which
// groups can, the cost model or medians say whether it pays.
#pragma once

#include "catena/plan/build.hpp"

#include <algorithm>

namespace catena {

/// Could a matvec make this norm? It reads rows as they lie, has dense matrices alone, and writes
/// nothing but their results.
inline finding plan_builder::norm_fits(const match& m) const {
    const auto no = [&m](reason why) { return finding{m.norm, why}; };
    const bool plain = m.kind == value_kind::rms_norm && m.weight != no_tensor && m.add < 0 &&
                       m.bias == no_tensor && m.gate.tensor == no_tensor;
    const tensor& x = view_.at(m.x.tensor);
    if (!plain || quotient(elements(x), x.ne[0]) > known_.norm_columns) return no(reason::no_norm_inside);
    if (known_.asked.pick.same_bits) return no(reason::same_bits);
    if (m.f32_needed) return no(reason::norm_shared);
    for (const reader& r : m.readers) {
        if (!known_.norms_inside.has(r.weight) || r.layout != format::q8_1)
            return no(reason::no_norm_inside);
        if (r.expert || !one_launch(m.readers.front(), r)) return no(reason::norm_shared);
    }
    const bool aligned = base_alignment(x) == 16 && base_alignment(view_.at(m.weight)) == 16;
    if (!aligned || m.quant_k != x.ne[0] || detail::check_columns(x).why != reason::none)
        return no(reason::no_norm_inside);
    return {};
}

/// Why a group that makes its norm is not the better choice than the same group behind a row step.
inline finding plan_builder::judge_norm(const match& m, const problem& inside) {
    const picked in = pick(inside);
    if (in.row < 0) return {m.norm, reason::no_norm_inside};
    problem group = inside;
    group.needs.value = value_kind::plain;
    group.needs.scale = false;
    const picked behind = pick(group);
    const picked row = pick(row_problem(view_, m, format_set::of(format::q8_1)));
    if (behind.row < 0 || row.row < 0) return {};
    if (!in.measured && behind.measured && row.measured) return {m.norm, reason::norm_unmeasured};
    const double apart_us = behind.predicted_us + row.predicted_us;
    if (in.predicted_us < apart_us) return {};
    return {m.norm, reason::norm_slower, static_cast<std::int64_t>(in.predicted_us * 1000),
            static_cast<std::int64_t>(apart_us * 1000)};
}

/// Makes norm and readers one step and takes the match, if that is legal and pays; else says why
/// not, and leaves all as it was.
inline finding plan_builder::fuse_norm(const family& f, match& m) {
    if (!is_norm(m.kind)) return {};
    if (const finding no = norm_fits(m); no.why != reason::none) return no;
    const auto with_norm = [](problem& p) {
        p.needs.value = value_kind::rms_norm;
        p.needs.scale = true;
    };
    problem bare;  // without what follows the matmuls: most that do not pay are seen here
    start_group(view_, bare, skeleton::matvec, format::q8_1, m.readers.front().node);
    with_norm(bare);
    for (const reader& r : m.readers) {
        if (bare.member_count == max_members) return {m.norm, reason::norm_shared};
        add_member(view_, bare, epilogue_matcher(g_, {}).plain(r.node), false, true);
    }
    finding why = norms_.of(bare, [&] { return judge_norm(m, bare); });
    why.node = m.norm;
    if (why.why != reason::none) return why;

    const std::size_t first = waiting_.size(), left = left_.size(), made = outputs_.size();
    const std::int32_t place = add_place(f, std::move(m), -1);
    match& found = places_[at(place)].found;
    wait(f.common, found.readers.data(), found.readers.data() + found.readers.size());
    step& s = begin_group(place, waiting_[first].matmul);
    with_norm(s.what);
    try_row(found);
    std::vector<made_value> values;
    const bool whole =
        std::all_of(found.readers.begin(), found.readers.end(),
                    [](const reader& r) { return r.dealt; }) &&
        fill_step(f, s, first, values) && waiting_.size() == first && left_.size() == left;
    why = whole ? judge_norm(found, s.what) : finding{found.norm, reason::norm_split};
    if (why.why != reason::none) {
        abandon();
        for (reader& r : found.readers) r.dealt = false;
        m = std::move(found);
        places_.pop_back();
        waiting_.resize(first);
        left_.resize(left);
        outputs_.resize(made);
        return why;
    }
    places_[at(place)].layouts = {};
    places_[at(place)].made_by = static_cast<std::int32_t>(steps_.size()) - 1;
    close_step(f, values);
    return {};
}

}  // namespace catena
