// The readers of a value one by one, and then together: does a row serve them, and in which layout
// do they read it? What is quickest for each alone may take two launches and two writings of the
// value where one would do.
#pragma once

#include "catena/match/detail/epilogue.hpp"
#include "catena/match/detail/match.hpp"
#include "catena/plan/detail/find/choices.hpp"
#include "catena/plan/detail/order/schedule.hpp"
#include "catena/plan/detail/order/trial.hpp"
#include "catena/plan/step.hpp"

#include <algorithm>
#include <vector>

namespace CATENA_NAMESPACE {

/// Have dense matrices the rows of experts' activation, one for each token? Then a matvec may have
/// both.
inline bool one_row_each(const tensor& experts, const tensor& x, const tensor& of_dense) {
    const bool one = x.ne[1] == 1 && (experts.kind == op::mul_mat_id || x.ne[2] == 1);
    return one && elements(x) == elements(of_dense);
}

/// Could one launch hold both, formats aside?
inline bool one_launch(const graph_view& view, const reader& a, const reader& b) {
    const tensor& s = view.node(a.node);
    const tensor& t = view.node(b.node);
    const tensor& x = view.at(s.src[1]);
    const tensor& y = view.at(t.src[1]);
    const bool beside = a.expert ? one_row_each(s, x, y) : one_row_each(t, y, x);
    const bool kinds = a.expert != b.expert
                           ? a.served_by == skeleton::matvec && beside
                           : !a.expert || (s.kind == t.kind && same_ids(s, t) && same_rows(x, y));
    return kinds && x.ne[0] == y.ne[0] && a.layout == b.layout && a.served_by == b.served_by;
}

class reader_judge {
  public:
    reader_judge(const graph_index& g, schedule& accepted, const premises& known, choices& rows,
                 slot_sums& sums)
        : g_(g), view_(g.view), accepted_(accepted), known_(known), choices_(rows), sums_(sums) {}

    /// Judges all readers of a match, one by one and together. `last`: the last that was left to
    /// the engine.
    void judge_all(const pattern& chain, match& m, left_over& last) {
        for (reader& r : m.readers) judge(chain, m, r, last);
        weigh_rounding(m);
        if (m.layouts().size() < 2) return;
        agree(chain, m);
        one_quantization(m, last);
    }

    /// Does a row serve this reader on its own? If not, it is left to the engine.
    void judge(const pattern& chain, match& m, reader& r, left_over& last) {
        if (!r.servable()) return;
        if (accepted_.covered(r.node)) {
            r.left.why = reason::taken;
            return;
        }
        const tensor& t = view_.node(r.node);
        format_set layouts = chain.activations;
        const bool plain = r.float_weight();
        if (plain)
            layouts.bits &= layouts_of_floats(m, r).bits;
        else if (is_float(r.weight))
            layouts.bits &= format_set::of(format::fp8_group).bits;
        else if (view_.at(t.src[1]).ne[0] != m.quant_k)  // a matmul's layouts depend on the rows
            layouts.bits &= format_set::of(format::q8_1).bits;
        else
            layouts.bits &= ~format_set::of(format::f32).bits;
        const lone_launch& how = choices_.alone(r.node, layouts);
        r.served_by = how.kind;
        r.layout = how.layout;
        r.as_f32 = how.layout == format::f32;
        const auto leave = [&](const obstacle& why, const rejection& nearest = {}) {
            r.left = why;
            r.left.node = r.node;
            last = {r.left, nearest};
        };
        if (how.nearest.why != limit::none) {
            leave({r.node, reason::no_row}, how.nearest);
        } else if (how.verdict >= 0) {
            const float percent = known_.rows.rows().verdicts[how.verdict].ratio * 100;
            leave({r.node, reason::engine_faster_in_models, how.verdict,
                   static_cast<std::int64_t>(percent + 0.5f)});
        } else if (const obstacle f = detail::check_rounding(t, r.weight);
                   is_float(r.weight) && how.kind == skeleton::matmul && f.found()) {
            leave(f);
        } else if (plain && base_alignment(view_.at(t.src[1])) < 16) {
            leave({r.node, reason::activation_unaligned});
        } else if (meets_own_input(r.node)) {
            leave({r.node, reason::meets_own_input});
        } else if (plain && !r.as_f32 && m.quant_k == 0) {
            m.quant_k = view_.at(t.src[1]).ne[0];
        }
    }

    /// If matmuls would read several layouts, all of them could read bf16, or all int8. The layouts
    /// that take the least time, writing the value included, are chosen.
    void agree(const pattern& chain, match& m) {
        if (m.layouts().size() < 2 || known_.asked.pick.same_bits) return;
        matmuls_.clear();
        std::vector<format> best;
        for (reader& r : m.readers) {
            if (!r.servable() || r.served_by != skeleton::matmul || is_float(r.weight)) continue;
            matmuls_.push_back(&r);
            best.push_back(r.layout);
        }
        const auto read = [this](const std::vector<format>& by) {
            for (std::size_t i = 0; i < by.size(); ++i) matmuls_[i]->layout = by[i];
        };
        const std::vector<format> apart = best;
        expected_time least = time_of(chain, m);
        for (const bool bf16 : {true, false}) {
            std::vector<format> by = apart;
            for (std::size_t i = 0; i < by.size(); ++i) {
                const reader& r = *matmuls_[i];
                const format asked = bf16 ? format::bf16_mma : matmul_layout(r.weight);
                if (chain.activations.has(asked) &&
                    choices_.alone(r.node, format_set::of(asked)).nearest.why == limit::none)
                    by[i] = asked;
            }
            read(by);
            const expected_time takes = time_of(chain, m);
            if (shorter(takes, least)) least = takes, best = by;
        }
        read(best);
    }

  private:
    const graph_index& g_;
    const graph_view& view_;
    schedule& accepted_;
    const premises& known_;
    choices& choices_;
    slot_sums& sums_;
    std::vector<reader*> matmuls_;  // scratch: of quantized weights, whose layouts are to agree
    std::vector<bool> launched_;    // the same: these are in a launch already
    trial_step together_;           // the same: those that one launch would have

    /// The layouts in which a reader of f32 may read the value. It may be rounded to the weights'
    /// type, unless other readers want rows of another length.
    format_set layouts_of_floats(const match& m, const reader& r) const {
        const format_set plain = format_set::of(format::f32);
        const std::int64_t length = view_.at(view_.node(r.node).src[1]).ne[0];
        const format rounded = warpgroup_layout(r.weight);
        if (rounded == format::unknown || (m.quant_k != 0 && m.quant_k != length) ||
            !rows_of_both(length, rows_of(view_, m).ne[0]))
            return plain;
        return plain | rounded;
    }

    /// Lets float weights read f32 after all: if no row rounds the value, if fp8 needs it too, or
    /// if rounding it in a step of its own takes longer than it saves.
    void weigh_rounding(match& m) {
        const auto rounded = [](const reader& r) {
            return r.servable() && is_float(r.weight) && in_mma_blocks(r.layout);
        };
        const format_set all = m.layouts();
        format_set others;            // that are there anyway
        expected_time with, without;  // rounding
        for (const reader& r : m.readers) {
            if (!r.servable() || r.float_weight()) continue;
            if (!rounded(r)) {
                others = others | r.layout;
                continue;
            }
            const lone_launch as_f32 = choices_.alone(r.node, format_set::of(format::f32));
            if (as_f32.nearest.why != limit::none) return;
            without += choices_.time(choices_.lone_problem(r.node, as_f32.kind, format::f32));
            with += choices_.time(choices_.lone_problem(r.node, r.served_by, r.layout));
        }
        if (all == others) return;
        const picked row = choices_.pick(problem_of(view_, m, all));
        if (m.stages.empty()) {  // else a step makes the value anyway
            with += expected_time(row);
            if (!others.empty()) without += choices_.time(problem_of(view_, m, others));
        }
        if (row.row >= 0 && !others.has(format::fp8_group) && shorter(with, without)) return;
        for (reader& r : m.readers) {
            if (!rounded(r)) continue;
            r.served_by = choices_.alone(r.node, format_set::of(format::f32)).kind;
            r.layout = format::f32;
            r.as_f32 = true;
        }
    }

    /// A row step quantizes either for ggml's formats or for fp8. If a value needs both, fp8 gets a
    /// step of its own later.
    void one_quantization(match& m, left_over& last) {
        const format_set all = m.layouts(), fp8 = format_set::of(format::fp8_group);
        if (!all.has(format::fp8_group) || all == fp8) return;
        for (reader& r : m.readers)
            if (r.servable() && r.layout == format::fp8_group) {
                r.left.why = reason::no_row;
                last = {r.left, {}};
            }
    }

    /// Does a matmul's result lie over its ids or its scales?
    bool meets_own_input(std::int32_t matmul) const {
        const tensor& t = view_.node(matmul);
        if (t.buffer == no_buffer && t.data == nullptr) return false;
        for (int s = 2; s <= plain_sources(t.kind); ++s)
            if (t.src[s] != no_tensor && may_meet(g_, view_.nodes[matmul], t.src[s])) return true;
        return false;
    }

    /// May a matmul, with its bias, run in the launch of those in together_? Then it is there too.
    bool runs_with_them(const pattern& chain, std::int32_t matmul) {
        const std::size_t before = together_.nodes.size();
        const output o = biased({sums_, chain.epilogue}, matmul);
        for (const std::int32_t n : o.nodes) {
            const unsigned fed = fed_by(g_, n, o.nodes);
            const unsigned internal = n == matmul ? 2u : fed;  // it reads the workspace
            together_.nodes.push_back({n, view_.nodes[n] != o.result, internal, 0});
        }
        if (before == 0 || accepted_.blocker(together_, before) < 0) return true;
        together_.nodes.resize(before);
        return false;
    }

    /// The time of the launches of matmuls_ with their present layouts, and of the step that writes
    /// these layouts.
    expected_time time_of(const pattern& chain, const match& m) {
        expected_time all;
        const auto add = [&](const auto& p) { all += choices_.time(p); };
        row_problem writing = problem_of(view_, m, m.layouts());
        if (m.stages.empty()) writing.needs.emits = m.layouts();  // f32 is there
        add(writing);
        launched_.assign(matmuls_.size(), false);
        for (std::size_t i = 0; i < matmuls_.size(); ++i) {
            if (launched_[i]) continue;
            const reader& first = *matmuls_[i];
            product_problem p = empty_group(view_, first.served_by, first.layout, first.node);
            together_.launch_at = first.node;
            together_.nodes.clear();
            const std::size_t until = std::min(matmuls_.size(), i + readers_together);
            for (std::size_t j = i; j < until && p.member_count < max_members; ++j) {
                const reader& r = *matmuls_[j];
                if (launched_[j] || r.weight != first.weight || !one_launch(view_, first, r) ||
                    !runs_with_them(chain, r.node))
                    continue;
                add_member(view_, p, plain_output(view_, r.node), false, true);
                launched_[j] = true;
            }
            add(p);
        }
        return all;
    }
};

}  // namespace CATENA_NAMESPACE
