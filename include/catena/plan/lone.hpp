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
        ask(skeleton::matmul, matmul_layout(weight_type(node)));
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
               r.numbers() && how.kind == skeleton::matmul && f.why != reason::none) {
        r.left = {r.node, f.why, f.have, f.need};
        last = {r.left, {}};
    } else if (r.numbers() && base_alignment(view_.at(t.src[1])) < 16) {
        r.left.why = reason::activation_unaligned;
        last = {r.left, {}};
    } else if (r.expert && (t.buffer != no_buffer || t.data != nullptr) &&
               may_meet(g_, view_.nodes[r.node], t.src[2])) {
        r.left.why = reason::meets_own_input;
        last = {r.left, {}};
    }
}

}  // namespace catena
