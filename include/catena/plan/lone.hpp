// Readers one by one: does a row serve a matmul on its own, and in which layout of its activation?
#pragma once

#include "catena/plan/build.hpp"

namespace catena {

/// The way to run the matmul at a node alone, in one of these layouts; of several the quickest.
inline const plan_builder::lone& plan_builder::alone(std::int32_t node, format_set layouts) {
    return lone_.of({view_, view_.node(node), layouts}, [&] {
        const output plain = epilogue_matcher(g_, {}).plain(node);
        const auto asked = [&](skeleton kind, format layout) {
            problem p;
            start_group(view_, p, kind, layout, node);
            add_member(view_, p, plain, false, true);
            return p;
        };
        lone best;
        const auto ask = [&](skeleton kind, format layout) {
            if (!layouts.has(layout)) return;
            const lone way{kind, layout,
                           served(asked(kind, layout), known_.rows, known_.asked.pick)};
            const auto us = [&](const lone& l) {
                return pick(asked(l.kind, l.layout)).predicted_us;
            };
            const auto better = [&] {
                const limit now = best.nearest.why, then = way.nearest.why;
                if (best.layout == format::unknown) return true;
                if (now == limit::none) return then == limit::none && us(way) < us(best);
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
inline void plan_builder::judge(const pattern& chain, const match& m, reader& r, left_over& last) {
    if (!r.servable()) return;
    if (schedule_.covered(r.node)) {
        r.left.why = reason::taken;
        return;
    }
    const tensor& t = view_.node(r.node);
    format_set layouts = chain.activations;
    if (r.numbers())
        layouts.bits &= format_set::of(format::f32).bits;
    else if (is_number(r.weight))
        layouts.bits &= format_set::of(format::fp8_group).bits;
    else if (view_.at(t.src[1]).ne[0] != m.quant_k)  // a matmul's layouts depend on the rows
        layouts.bits &= format_set::of(format::q8_1).bits;
    else
        layouts.bits &= ~format_set::of(format::f32).bits;
    const lone& how = alone(r.node, layouts);
    r.served_by = how.kind;
    r.layout = how.layout;
    if (how.nearest.why != limit::none) {
        r.left.why = reason::no_row;
        last = {r.left, how.nearest};
    } else if (const finding f = detail::check_rounding(t, r.weight);
               is_number(r.weight) && how.kind == skeleton::matmul && f.why != reason::none) {
        r.left = {r.node, f.why, f.have, f.need};
        last = {r.left, {}};
    } else if (r.numbers() && base_alignment(view_.at(t.src[1])) < 16) {
        r.left.why = reason::activation_unaligned;
        last = {r.left, {}};
    } else if (meets_own_input(r.node)) {
        r.left.why = reason::meets_own_input;
        last = {r.left, {}};
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
