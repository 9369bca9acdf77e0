// Readers one by one: does a row serve a matmul on its own, and in which layout of its activation?
#pragma once

#include "catena/plan/build.hpp"

namespace catena {

/// A matmul at a node, nothing else in its launch.
inline problem plan_builder::lone_problem(std::int32_t node, skeleton kind, format layout) const {
    problem p;
    start_group(view_, p, kind, layout, node);
    add_member(view_, p, plain_output(view_, node), false, true);
    return p;
}

/// The way to run the matmul at a node alone, in one of these layouts; of several the quickest.
inline const plan_builder::lone& plan_builder::alone(std::int32_t node, format_set layouts) {
    return lone_.of({view_, view_.node(node), layouts}, [&] {
        lone best;
        const auto ask = [&](skeleton kind, format layout) {
            if (!layouts.has(layout)) return;
            const lone way{kind, layout,
                           served(lone_problem(node, kind, layout), known_.rows, known_.asked.pick)};
            const auto us = [&](const lone& l) {
                return pick(lone_problem(node, l.kind, l.layout)).predicted_us;
            };
            const auto better = [&] {
                const limit now = best.nearest.why, then = way.nearest.why;
                if (best.layout == format::unknown) return true;
                if (now == limit::none)  // the quicker may be another one for other columns
                    return then == limit::none && !known_.asked.pick.same_bits &&
                           us(way) < us(best);
                return then == limit::none || then >= now;  // the later limit is the closer
            };
            if (better()) best = way;
        };
        ask(skeleton::matvec, format::f32);
        ask(skeleton::matvec, format::q8_1);
        for (const format layout : matmul_layouts(weight_type(node))) ask(skeleton::matmul, layout);
        return best;
    });
}

/// Does a row serve this reader on its own? If not, it is left to the engine.
inline void plan_builder::judge(const pattern& chain, match& m, reader& r, left_over& last) {
    if (!r.servable()) return;
    if (schedule_.covered(r.node)) {
        r.left.why = reason::taken;
        return;
    }
    const tensor& t = view_.node(r.node);
    format_set layouts = chain.activations;
    const bool plain = r.numbers();
    if (plain)
        layouts.bits &= layouts_of_numbers(m, r).bits;
    else if (is_number(r.weight))
        layouts.bits &= format_set::of(format::fp8_group).bits;
    else if (view_.at(t.src[1]).ne[0] != m.quant_k)  // a matmul's layouts depend on the rows
        layouts.bits &= format_set::of(format::q8_1).bits;
    else
        layouts.bits &= ~format_set::of(format::f32).bits;
    const lone& how = alone(r.node, layouts);
    r.served_by = how.kind;
    r.layout = how.layout;
    r.as_f32 = how.layout == format::f32;
    if (how.nearest.why != limit::none) {
        r.left.why = reason::no_row;
        last = {r.left, how.nearest};
    } else if (const finding f = detail::check_rounding(t, r.weight);
               is_number(r.weight) && how.kind == skeleton::matmul && f.why != reason::none) {
        r.left = {r.node, f.why, f.have, f.need};
        last = {r.left, {}};
    } else if (plain && base_alignment(view_.at(t.src[1])) < 16) {
        r.left.why = reason::activation_unaligned;
        last = {r.left, {}};
    } else if (meets_own_input(r.node)) {
        r.left.why = reason::meets_own_input;
        last = {r.left, {}};
    } else if (plain && !r.as_f32 && m.quant_k == 0) {
        m.quantize_rows(view_.at(t.src[1]).ne[0]);
    }
}

/// How a reader of f32 may read it: rounded to its weights' type too, unless others want other rows.
inline format_set plan_builder::layouts_of_numbers(const match& m, const reader& r) const {
    const format_set plain = format_set::of(format::f32);
    const std::int64_t length = view_.at(view_.node(r.node).src[1]).ne[0];
    const format rounded = warpgroup_layout(r.weight);
    if (rounded == format::unknown || (m.quant_k != 0 && m.quant_k != length) ||
        !rows_of_both(length, rows_of(view_, m).ne[0]))
        return plain;
    return plain | rounded;
}

/// Numbers read f32 after all where no row rounds it, or none beside fp8, and where a step of its own
/// would do that which takes longer than it saves them.
inline void plan_builder::weigh_rounding(match& m) {
    const auto rounded = [](const reader& r) {
        return r.servable() && is_number(r.weight) && in_mma_blocks(r.layout);
    };
    const format_set all = layouts_of(m);
    format_set others;  // that are there anyway
    double saved = 0;
    for (const reader& r : m.readers) {
        if (!r.servable() || r.numbers()) continue;
        if (!rounded(r)) {
            others = others | r.layout;
            continue;
        }
        const lone as_f32 = alone(r.node, format_set::of(format::f32));
        if (as_f32.nearest.why != limit::none) return;
        saved += pick(lone_problem(r.node, as_f32.kind, format::f32)).predicted_us -
                 pick(lone_problem(r.node, r.served_by, r.layout)).predicted_us;
    }
    if (all == others) return;
    const picked row = pick(row_problem(view_, m, all));
    const auto extra_us = [&] {
        if (m.kind != value_kind::plain) return 0.0;  // a step makes the value anyway
        return row.predicted_us -
               (others.empty() ? 0 : pick(row_problem(view_, m, others)).predicted_us);
    };
    if (row.row >= 0 && !others.has(format::fp8_group) && saved > extra_us()) return;
    for (reader& r : m.readers) {
        if (!rounded(r)) continue;
        r.served_by = alone(r.node, format_set::of(format::f32)).kind;
        r.layout = format::f32;
        r.as_f32 = true;
    }
}

/// Does a matmul's result lie over its ids or its scales?
inline bool plan_builder::meets_own_input(std::int32_t matmul) const {
    const tensor& t = view_.node(matmul);
    if (t.buffer == no_buffer && t.data == nullptr) return false;
    for (int s = 2; s <= plain_sources(t.kind); ++s)
        if (t.src[s] != no_tensor && may_meet(g_, view_.nodes[matmul], t.src[s])) return true;
    return false;
}

/// A row step quantizes for ggml's formats or for fp8: where both read, fp8 waits for its turn.
inline void plan_builder::one_quantization(match& m, left_over& last) {
    const format_set all = layouts_of(m), fp8 = format_set::of(format::fp8_group);
    if (!all.has(format::fp8_group) || all == fp8) return;
    for (reader& r : m.readers)
        if (r.servable() && r.layout == format::fp8_group) {
            r.left.why = reason::no_row;
            last = {r.left, {}};
        }
}

}  // namespace catena
