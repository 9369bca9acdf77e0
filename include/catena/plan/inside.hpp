// Activations made in the launch of their readers (policy.placement): where nobody reads a norm but
// the matrices of one launch, or a value of the engine's is quantized for them alone, that launch
// can do it, and the row step goes away. A launch of numbers that makes a norm also writes it, as it
// is and as q8_1, for all who read it later. The table says which groups can, the cost model or medians
// say whether it pays.
#pragma once

#include "catena/plan/build.hpp"

#include <algorithm>
#include <utility>

namespace catena {

/// Could a matvec make this activation that holds the readers which are `inside` it? It reads f32 rows as
/// they lie, has dense matrices alone, and of the norm that numbers read q8_1 is written for the others.
template <class Inside>
finding plan_builder::inside_fits(const match& m, bool numbers, const Inside& inside) const {
    const auto no = [&m](reason why) { return finding{m.norm, why}; };
    const bool norm = m.kind == value_kind::rms_norm && m.weight != no_tensor && m.add < 0 &&
                      m.bias == no_tensor && m.gate.tensor == no_tensor;
    const bool copied = m.copies() && &rows_of(view_, m) == &view_.at(m.activation);
    if (!norm && !copied && m.kind != value_kind::plain) return no(reason::no_norm_inside);
    if (known_.asked.pick.same_bits) return no(reason::same_bits);
    if (!numbers && m.f32_needed) return no(reason::norm_shared);
    const reader* first = nullptr;
    for (const reader& r : m.readers) {
        if (reads_quantized(r) && r.layout != format::q8_1) return no(reason::no_norm_inside);
        if (!inside(r)) continue;
        if (first == nullptr) first = &r;
        if (!known_.norms_inside.has(r.weight)) return no(reason::no_norm_inside);
        if (r.expert || !one_launch(*first, r)) return no(reason::norm_shared);
        const tensor& x = view_.at(norm ? m.x.tensor : view_.node(r.node).src[1]);
        const tensor& from = copied ? view_.at(m.gate.tensor) : x;
        const bool aligned = base_alignment(from) == 16 &&
                             detail::check_columns(x).why == reason::none &&
                             (!norm || base_alignment(view_.at(m.weight)) == 16);
        const bool whole_rows = view_.at(view_.node(r.node).src[1]).ne[0] == x.ne[0] &&
                                (m.quant_k == x.ne[0] || (numbers && m.quant_k == 0));
        if (!aligned || !whole_rows || quotient(elements(x), x.ne[0]) > known_.norm_columns)
            return no(reason::no_norm_inside);
    }
    return first != nullptr ? finding{} : no(reason::norm_shared);
}

/// Why a group that makes its activation is not the better choice than the same group behind a row
/// step.
inline finding plan_builder::judge_inside(const match& m, const problem& inside) {
    const picked in = pick(inside);
    if (in.row < 0) return {m.norm, reason::no_norm_inside};
    const bool numbers = has_numbers(inside.needs.weights);
    problem group = inside;
    group.needs.value = value_kind::plain;
    group.needs.scale = false;
    group.needs.emits = {};
    group.needs.activation = numbers ? format::f32 : format::q8_1;
    const picked behind = pick(group);
    problem made = row_problem(view_, m, layouts_of(m));
    if (numbers) made.needs.emits = made.needs.emits | format::f32;
    const picked row = pick(made);
    if (behind.row < 0 || row.row < 0) return {};
    if (!in.measured && behind.measured && row.measured) return {m.norm, reason::norm_unmeasured};
    const double apart_us = behind.predicted_us + row.predicted_us;
    if (in.predicted_us < apart_us) return {};
    return {m.norm, reason::norm_slower, static_cast<std::int64_t>(in.predicted_us * 1000),
            static_cast<std::int64_t>(apart_us * 1000)};
}

/// Does the step that is tried read, in place of what a CONT would copy, what that copies?
inline bool plan_builder::copies_inside(const match& m) const {
    return m.copies() && trial_.has(m.glu);
}

/// Lets the step that is tried write its norm as it is, for matrices of numbers that cannot join it.
inline bool plan_builder::writes_f32(match& m, step& s) {
    if (m.f32_needed) return true;
    m.f32_needed = true;
    s.what.needs.emits = s.what.needs.emits | format::f32;
    for (covered_node& c : trial_.nodes)
        if (view_.nodes[c.node] == m.activation) c.elided = false;
    const picked& found = pick(s.what);
    if (found.row >= 0) run_by(s, found);
    return found.row >= 0 && schedule_.blocker(trial_) < 0;
}

/// Makes an activation and its readers one step and takes the match, if that is legal and pays; else
/// says why not, and leaves all as it was. Of a norm that matrices of numbers read, these are in that step,
/// all that can be; `f32_by_others`: what it writes as it is, somebody reads.
inline finding plan_builder::fuse_inside(const family& f, match& m, bool f32_by_others) {
    const auto multiplies = [](const reader& r) { return r.servable() && r.numbers(); };
    const auto any = [&m](auto&& is) {
        return std::any_of(m.readers.begin(), m.readers.end(), is);
    };
    const bool numbers = is_norm(m.kind) && any(multiplies);
    const auto inside = [&](const reader& r) {
        return numbers ? multiplies(r) && !r.expert && known_.norms_inside.has(r.weight)
                       : reads_quantized(r);
    };
    if (const finding no = inside_fits(m, numbers, inside); no.why != reason::none) return no;
    f32_by_others = f32_by_others ||
                    (numbers && any([&](const reader& r) { return multiplies(r) && !inside(r); }));
    format_set written;  // for readers behind that step
    if (numbers) written = layouts_of(m);
    if (numbers && f32_by_others) written = written | format::f32;
    const auto made_inside = [norm = is_norm(m.kind), written](problem& p) {
        if (norm)
            p.needs.value = value_kind::rms_norm, p.needs.scale = true, p.needs.emits = written;
        else
            p.needs.activation = format::f32;
    };
    problem bare;  // without what follows the matmuls: most that do not pay are seen here
    for (const reader& r : m.readers) {
        if (!inside(r)) continue;
        if (bare.member_count == max_members) return {m.norm, reason::norm_shared};
        if (bare.member_count == 0)
            start_group(view_, bare, skeleton::matvec, r.layout, r.node), made_inside(bare);
        add_member(view_, bare, plain_output(view_, r.node), false, true);
    }
    finding why = inside_.of(bare, [&] { return judge_inside(m, bare); });
    why.node = m.norm;
    if (why.why != reason::none) return why;

    const std::size_t first = waiting_.size(), left = left_.size(), made = outputs_.size();
    const bool f32_needed = std::exchange(m.f32_needed, f32_by_others);
    const std::int32_t place = add_place(f, std::move(m), -1);
    match& found = places_[at(place)].found;
    reader* const end = found.readers.data() + found.readers.size();
    wait(f.common, std::find_if(found.readers.data(), end, inside), end);
    step& s = begin_group(place, waiting_[first].matmul);
    made_inside(s.what);
    if (found.kind != value_kind::plain) try_row(found);
    std::vector<made_value> values;
    const auto apart = [&](const reader& r) { return inside(r) && !r.dealt; };
    const auto too_early = [&](const reader& r) {
        return numbers && reads_quantized(r) && r.node < trial_.launch_at;
    };
    const auto& readers = found.readers;
    const bool filled = fill_step(f, s, first, values);
    const bool whole = waiting_.size() == first && left_.size() == left &&
                       std::none_of(readers.begin(), readers.end(), apart);
    const bool can = filled && (whole || (numbers && writes_f32(found, s))) &&
                     std::none_of(readers.begin(), readers.end(), too_early);
    why = can ? judge_inside(found, s.what) : finding{found.norm, reason::norm_split};
    if (why.why != reason::none) {
        abandon();
        for (reader& r : found.readers) r.dealt = false;
        m = std::move(found);
        m.f32_needed = f32_needed;
        places_.pop_back();
        waiting_.resize(first);
        left_.resize(left);
        outputs_.resize(made);
        return why;
    }
    for (std::size_t i = first; i < waiting_.size(); ++i)  // these will read what it writes
        for (reader& r : found.readers)
            if (r.node == waiting_[i].matmul || r.node == waiting_[i].up) r.dealt = false;
    waiting_.resize(first);
    if (!numbers) places_[at(place)].layouts = {};
    if (is_norm(found.kind))
        places_[at(place)].made_by = static_cast<std::int32_t>(steps_.size()) - 1;
    close_step(f, values);
    group(f, place);  // who reads what the step writes, or the engine's f32
    return {};
}

}  // namespace catena
