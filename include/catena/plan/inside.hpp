// Activations made in the launch of their readers (policy.placement): where nobody reads a norm but
// the matrices of one launch, or a value of the engine's is quantized for them alone, that launch
// can do it, and the row step goes away. The table says which groups can, the cost model or medians
// say whether it pays.
#pragma once

#include "catena/plan/build.hpp"

#include <algorithm>

namespace catena {

/// Could a matvec make this activation? It reads f32 rows as they lie, has dense matrices alone, and
/// writes nothing but their results.
inline finding plan_builder::inside_fits(const match& m) const {
    const auto no = [&m](reason why) { return finding{m.norm, why}; };
    const bool norm = m.kind == value_kind::rms_norm && m.weight != no_tensor && m.add < 0 &&
                      m.bias == no_tensor && m.gate.tensor == no_tensor;
    if (!norm && m.kind != value_kind::plain) return no(reason::no_norm_inside);
    if (known_.asked.pick.same_bits) return no(reason::same_bits);
    if (m.f32_needed) return no(reason::norm_shared);
    const reader* first = nullptr;
    for (const reader& r : m.readers) {
        if (!reads_quantized(r)) continue;
        if (first == nullptr) first = &r;
        if (!known_.norms_inside.has(r.weight) || r.layout != format::q8_1)
            return no(reason::no_norm_inside);
        if (r.expert || !one_launch(*first, r)) return no(reason::norm_shared);
        const tensor& x = view_.at(norm ? m.x.tensor : view_.node(r.node).src[1]);
        const bool aligned = base_alignment(x) == 16 && detail::check_columns(x).why == reason::none &&
                             (!norm || base_alignment(view_.at(m.weight)) == 16);
        if (!aligned || m.quant_k != x.ne[0] || quotient(elements(x), x.ne[0]) > known_.norm_columns)
            return no(reason::no_norm_inside);
    }
    return {};
}

/// Why a group that makes its activation is not the better choice than the same group behind a row
/// step.
inline finding plan_builder::judge_inside(const match& m, const problem& inside) {
    const picked in = pick(inside);
    if (in.row < 0) return {m.norm, reason::no_norm_inside};
    problem group = inside;
    group.needs.value = value_kind::plain;
    group.needs.scale = false;
    group.needs.activation = format::q8_1;
    const picked behind = pick(group);
    const picked row = pick(row_problem(view_, m, format_set::of(format::q8_1)));
    if (behind.row < 0 || row.row < 0) return {};
    if (!in.measured && behind.measured && row.measured) return {m.norm, reason::norm_unmeasured};
    const double apart_us = behind.predicted_us + row.predicted_us;
    if (in.predicted_us < apart_us) return {};
    return {m.norm, reason::norm_slower, static_cast<std::int64_t>(in.predicted_us * 1000),
            static_cast<std::int64_t>(apart_us * 1000)};
}

/// Makes an activation and its readers one step and takes the match, if that is legal and pays; else
/// says why not, and leaves all as it was.
inline finding plan_builder::fuse_inside(const family& f, match& m) {
    if (const finding no = inside_fits(m); no.why != reason::none) return no;
    const auto made_inside = [norm = is_norm(m.kind)](problem& p) {
        if (norm)
            p.needs.value = value_kind::rms_norm, p.needs.scale = true;
        else
            p.needs.activation = format::f32;
    };
    problem bare;  // without what follows the matmuls: most that do not pay are seen here
    for (const reader& r : m.readers) {
        if (!reads_quantized(r)) continue;
        if (bare.member_count == max_members) return {m.norm, reason::norm_shared};
        if (bare.member_count == 0)
            start_group(view_, bare, skeleton::matvec, format::q8_1, r.node), made_inside(bare);
        add_member(view_, bare, plain_output(view_, r.node), false, true);
    }
    finding why = inside_.of(bare, [&] { return judge_inside(m, bare); });
    why.node = m.norm;
    if (why.why != reason::none) return why;

    const std::size_t first = waiting_.size(), left = left_.size(), made = outputs_.size();
    const std::int32_t place = add_place(f, std::move(m), -1);
    match& found = places_[at(place)].found;
    reader* const end = found.readers.data() + found.readers.size();
    wait(f.common, std::find_if(found.readers.data(), end, reads_quantized), end);
    step& s = begin_group(place, waiting_[first].matmul);
    made_inside(s.what);
    if (is_norm(found.kind)) try_row(found);
    std::vector<made_value> values;
    const bool whole =
        std::all_of(found.readers.begin(), found.readers.end(),
                    [](const reader& r) { return r.dealt || !reads_quantized(r); }) &&
        fill_step(f, s, first, values) && waiting_.size() == first && left_.size() == left;
    why = whole ? judge_inside(found, s.what) : finding{found.norm, reason::norm_split};
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
    if (is_norm(found.kind))
        places_[at(place)].made_by = static_cast<std::int32_t>(steps_.size()) - 1;
    close_step(f, values);
    group(f, place);  // who reads the f32
    return {};
}

}  // namespace catena
