// Building a plan: matches are laid over the graph in node order; each becomes one row step and the
// steps of its matrices. What cannot be proved legal is made smaller or left to the engine, with
// the reason.
#pragma once

#include "catena/plan/draft.hpp"
#include "catena/plan/keys.hpp"
#include "catena/plan/plan.hpp"
#include "catena/plan/premises.hpp"
#include "catena/plan/request.hpp"
#include "catena/plan/schedule.hpp"
#include "catena/plan/slots.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

namespace catena {

class plan_builder {
  public:
    plan_builder(const graph_index& g, const premises& known)
        : g_(g), view_(g.view), known_(known), sums_(g), schedule_(g) {
        const auto expected = static_cast<std::size_t>(g.view.node_count) / 8 + 8;
        steps_.reserve(expected);
        first_output_.reserve(expected);
        outputs_.reserve(expected);
        places_.reserve(expected);
    }

    /// Fills in everything but table, options and state.
    void build(plan& out) {
        const auto open = [this](std::int32_t i) { return !schedule_.covered(i) && !given(i); };
        for (std::int32_t i = 0; i < view_.node_count; ++i) {
            switch (g_.kind(i)) {
                case op::rms_norm:
                case op::norm:
                    if (open(i)) plan_norm(i);
                    break;
                case op::glu:
                case op::mul:
                case op::unary:
                case op::sqr:
                case op::cont:
                    if (open(i)) plan_gated(i);
                    break;
                case op::mul_mat:
                case op::mul_mat_id:
                    if (open(i))
                        plan_matmul(i);
                    else if (!schedule_.covered(i))
                        leave(given_.at(i));
                    break;
                default:
                    break;
            }
        }
        store(out);
    }

  private:
    /// How a matmul runs on its own, if a row serves it: `nearest` says why not.
    struct lone {
        skeleton kind = skeleton::matvec;
        format layout = format::unknown;
        rejection nearest;
    };

    const graph_index& g_;
    const graph_view& view_;
    const premises& known_;
    slot_sums sums_;
    memo<problem, picked> picks_;
    memo<lone_matmul, lone> lone_;
    memo<read_set, std::int32_t> chains_;
    memo<problem, finding> inside_;  // of groups that would make their activation: why not
    memo<problem, bool> combining_;  // of experts that would be added up: does it pay?
    schedule schedule_;
    std::vector<step> steps_;                 // parallel to schedule_.steps()
    std::vector<std::int32_t> first_output_;  // the same: of a group, into outputs_
    std::vector<drafted_output> outputs_;     // one step's stand together, in launch order
    std::vector<place> places_;
    std::vector<left_over> left_;
    std::vector<output> waiting_;  // for a launch: those of the innermost group last
    std::vector<reader*> mates_;   // scratch: readers that one launch could hold, formats aside
    move trial_;                   // scratch: one step is tried at a time
    std::unordered_map<std::int32_t, finding> given_;  // nodes that the engine does faster

    static std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }

    format weight_type(std::int32_t matmul) const {
        const std::int32_t weight = view_.node(matmul).src[0];
        return weight == no_tensor ? format::unknown : view_.at(weight).type;
    }

    void leave(const finding& f, const rejection& nearest = {}) {
        if (f.node >= 0) left_.push_back({f, nearest});
    }

    void plan_norm(std::int32_t node) {
        left_over why{{node, reason::no_chain}, {}};
        const use behind = behind_scale(node);
        const op next = behind.node < 0 ? op::none : g_.kind(behind.node);
        const value_kind norm = g_.kind(node) == op::norm ? value_kind::layer_norm
                                                          : value_kind::rms_norm;
        for (const family& f : known_.families) {
            if (f.common.value != norm) continue;
            if (given(node)) break;
            if ((f.common.experts && !may_combine(view_, view_.node(node).src[0])) ||
                (f.common.residual && !sum_left(node)) ||
                (f.common.bias && next != op::add) ||
                (f.common.gate && f.common.scale && next != op::mul) ||
                (f.common.join && !(next == op::add && summed(behind.node, f.common.again))) ||
                (!f.common.scale && !unweighted(node, f.common.gate)))
                continue;
            const matcher look(g_, f.common);
            match m = look.place_at_norm(node, sums_);
            if (m.experts.found() && !sum_open(m.experts)) continue;
            if (!m.found()) {
                const bool closer = f.common.scale || why.what.why == reason::no_chain;
                if (closer && why.what.why != reason::none_served) why = {m.why, {}};
                continue;
            }
            const std::int32_t add = m.add;
            const left_over now = run(look, f, std::move(m));
            if (now.what.why == reason::none) return;
            if (add >= 0 && now.what.why == reason::overlap)
                leave({add, reason::overlap, now.what.have});
            const bool said = why.what.why != reason::no_chain;
            if (!said || now.what.why != reason::not_read) why = now;
        }
        why.what.node = node;
        leave(why.what, why.nearest);
    }

    void plan_gated(std::int32_t node) {
        const op kind = g_.kind(node);
        const bool alone = kind == op::unary || kind == op::sqr || kind == op::cont;
        if (engine_fuses(g_, node)) return leave({node, reason::engine_fuses});
        if (!multiplied(view_.nodes[node]) && (alone || mere_product(node))) return;
        for (const family& f : known_.families) {
            if (f.common.value != value_kind::glu || f.common.alone != alone) continue;
            if (given(node)) break;
            const matcher look(g_, f.common);
            match m = look.place_at_gated(node);
            const bool known = m.found() || m.why.why != reason::no_gate;
            const left_over why = m.found() ? run(look, f, std::move(m)) : left_over{m.why, {}};
            if (why.what.why == reason::none) return;
            if (alone && (!known || why.what.why == reason::not_read)) return;  // a gate, say
            if (known) leave({node, why.what.why, why.what.have, why.what.need}, why.nearest);
        }
    }

    /// A matmul that no chain serves. Of quantized weights, its activation is quantized on its own,
    /// once for all readers; of numbers, it is read as it is.
    void plan_matmul(std::int32_t node) {
        const tensor& t = view_.node(node);
        if (t.src[0] == no_tensor || t.src[1] == no_tensor || elements(t) == 0) return;
        const format weight = weight_type(node);
        const bool numbers = is_number(weight) && g_.constant(t.src[0]);
        if (!numbers && info(weight).role != format_role::weight) return;
        left_over why{{node, reason::no_chain}, {}};
        const std::int32_t value = value_behind(view_, t.src[1]);
        for (const family& f : known_.families) {
            if (f.common.length() > 0) continue;
            if (const reader r = read_of(view_, f.common, value, {node, 1}); !r.servable()) {
                why = {r.left, {}};
                continue;
            }
            match m = matcher(g_, f.common).at_value(value);
            m.readers.erase(m.readers.begin(),
                            std::find_if(m.readers.begin(), m.readers.end(),
                                         [node](const reader& o) { return o.node >= node; }));
            why = m.found() ? settle(f, std::move(m)) : left_over{m.why, {}};
            if (schedule_.covered(node)) return;
            if (given(node)) break;
            if (why.what.why == reason::none) why = left_over{{node, reason::row_length}, {}};
        }
        why.what.node = node;
        leave(why.what, why.nearest);
    }

    /// Turns a match without its readers into steps, if a matmul is among them or an engine needs
    /// several launches for it. Returns why not, or reason::none.
    left_over run(const matcher& look, const family& f, match&& m) {
        if (m.unary >= 0 && schedule_.covered(m.unary)) return {{m.node(), reason::no_gate}, {}};
        if (!multiplied(m.activation) && engine_needs_one(m))
            return {{m.node(), reason::not_read}, {}};
        look.read(m);
        return settle(f, std::move(m));
    }

    /// The same of a match with its readers, unless the engine is known to be faster.
    left_over settle(const family& f, match&& m) {
        const bool contested = known_.rows.rows().engine_count > 0;
        return contested ? contest(f, std::move(m)) : serve(f, std::move(m));
    }

    left_over serve(const family& f, match&& m) {
        left_over last{{m.node(), reason::not_read}, {}};
        for (reader& r : m.readers) judge(f.common, m, r, last);
        const bool read = m.servable() > 0;
        if (!read && engine_needs_one(m)) {
            const auto multiplies = [](const reader& r) {
                return r.left.why != reason::not_activation && r.left.why != reason::plain_weight;
            };
            const auto matmuls = std::count_if(m.readers.begin(), m.readers.end(), multiplies);
            if (last.what.why == reason::not_read && matmuls > 0)
                last.what = {m.node(), reason::none_served, matmuls};
            return last;
        }
        const bool by_engine = m.kind == value_kind::plain;
        if (by_engine) m.f32_needed = false;  // it is there
        weigh_rounding(m);
        if (layouts_of(m).size() > 1) {
            agree(f.common, m);
            one_quantization(m, last);
        }
        const auto any = [&m](auto&& reads) {
            return std::any_of(m.readers.begin(), m.readers.end(), reads);
        };
        const auto elsewhere = [](const reader& r) { return !r.servable(); };
        const auto as_it_is = [](const reader& r) { return r.numbers(); };
        m.f32_needed = !by_engine && (m.f32_needed || any(elsewhere));
        const bool by_others = m.f32_needed;  // than matrices of numbers
        m.f32_needed = by_others || (!by_engine && any(as_it_is));
        if ((m.f32_needed && !f.common.emits.has(format::f32)) ||
            (m.sum_needed && !f.common.sum_emits.has(format::f32)))
            return {{m.node(), reason::no_emit}, {}};

        const format_set layouts = layouts_of(m);
        if (by_engine && layouts.empty()) {  // numbers alone read it: there is nothing to make
            group(f, add_place(f, std::move(m), -1));
            return {};
        }
        const finding apart = read ? fuse_inside(f, m, by_others)
                                   : finding{m.norm, reason::norm_shared};
        if (apart.why == reason::none) return {};
        step& row = begin_trial(true);
        row.chain = static_cast<std::int32_t>(places_.size());
        row.what = row_problem(view_, m, layouts);
        const picked& found = pick(row.what);
        if (found.row < 0) {
            abandon();
            return {{m.node(), reason::no_row}, found.nearest};
        }
        run_by(row, found);
        trial_.at_once = row.what.rows == 1 && is_norm(m.kind) &&
                         reads_before_it_writes(known_.rows.rows().rows[found.row].numbers);
        try_row(m);
        if (const std::int32_t v = find_position(); v >= 0) {
            abandon();
            return {{m.node(), reason::overlap, v}, {}};
        }
        const bool norm = is_norm(m.kind);
        const std::int32_t made = add_place(f, std::move(m), accept());
        if (norm) places_[at(made)].norm_apart = apart;
        group(f, made);
        return {};
    }

    const picked& pick(const problem& p) {
        return picks_.of(p, [&] { return catena::pick(p, known_.rows, known_.asked.pick); });
    }

    /// Does it read the value as it is quantized for it?
    static bool reads_quantized(const reader& r) { return r.servable() && !r.numbers(); }

    /// In which the value is quantized.
    static format_set layouts_of(const match& m) {
        format_set out;
        for (const reader& r : m.readers)
            if (reads_quantized(r)) out = out | r.layout;
        return out;
    }

    /// The step that is tried is the last of steps_, and trial_ what it moves.
    step& begin_trial(bool row) {
        trial_.launch_at = -1;
        trial_.row = row;
        trial_.at_once = false;
        trial_.also_reads = no_tensor;
        trial_.nodes.clear();
        return steps_.emplace_back();
    }

    void abandon() { steps_.pop_back(); }

    static void run_by(step& s, const picked& p) {
        s.row = p.row;
        s.config = p.config;
        s.band_rows = p.band_rows;
        s.bytes = p.bytes;
        s.predicted_us = p.predicted_us;
    }

    /// Accepts the step that is tried; its outputs are the last ones.
    std::int32_t accept() {
        step& s = steps_.back();
        first_output_.push_back(static_cast<std::int32_t>(outputs_.size()) - s.what.member_count);
        s.launch_at = trial_.launch_at;
        s.node_count = static_cast<std::int32_t>(trial_.nodes.size());
        return schedule_.accept(trial_);
    }

    /// Records a place under the chain of the family that lists its readers.
    std::int32_t add_place(const family& f, match&& m, std::int32_t made_by) {
        read_set by{static_cast<std::int32_t>(&f - known_.families.data()), {}, {}};
        for (const reader& r : m.readers) {
            if (!r.servable()) continue;
            format_set& matrices = r.expert ? by.expert : by.dense;
            matrices = matrices | r.weight;
        }
        const std::int32_t chain =
            chains_.of(by, [&] { return chain_for(f, by.dense, by.expert); });
        const format_set layouts = layouts_of(m);
        places_.emplace_back(chain, std::move(m), made_by, layouts);
        return static_cast<std::int32_t>(places_.size()) - 1;
    }

    // What stands around a node, asked before its chain is matched: plan/around.hpp.
    inline bool sum_open(combination& c) const;
    inline bool sum_left(std::int32_t norm) const;
    inline bool unweighted(std::int32_t norm, bool gate) const;
    inline use behind_scale(std::int32_t norm) const;
    inline bool summed(std::int32_t add, bool again) const;
    inline bool mere_product(std::int32_t node) const;
    inline bool multiplied(std::int32_t value) const;
    inline bool engine_needs_one(const match& m) const;

    // What a row step touches, and where it may stand: plan/trial.hpp.
    inline void try_row(const match& m);
    inline unsigned fed_by(std::int32_t node, std::int32_t maker) const;
    inline unsigned fed_by_experts(std::int32_t node, const match& m) const;
    inline std::int32_t find_position();

    // Readers one by one: plan/lone.hpp.
    inline problem lone_problem(std::int32_t node, skeleton kind, format layout) const;
    inline const lone& alone(std::int32_t node, format_set layouts);
    inline void judge(const pattern& chain, match& m, reader& r, left_over& last);
    inline format_set layouts_of_numbers(const match& m, const reader& r) const;
    inline void weigh_rounding(match& m);
    inline bool meets_own_input(std::int32_t matmul) const;
    static inline void one_quantization(match& m, left_over& last);

    // The layouts of readers together: plan/layout.hpp.
    inline void agree(const pattern& chain, match& m);
    inline double time_of(const match& m);

    // The engine's own kernels as a contender: plan/contest.hpp.
    bool given(std::int32_t node) const { return !given_.empty() && given_.count(node) != 0; }
    inline left_over contest(const family& f, match&& m);

    // Activations made in the launch of their readers: plan/inside.hpp.
    inline finding fuse_inside(const family& f, match& m, bool f32_by_others);
    template <class Inside>
    finding inside_fits(const match& m, bool numbers, const Inside& inside) const;
    inline finding judge_inside(const match& m, const problem& inside);
    inline bool copies_inside(const match& m) const;
    inline bool writes_f32(match& m, step& s);

    // Groups: plan/group.hpp.
    static constexpr std::int32_t joined = -1, unserved = -2;  ///< or the node that forbids it
    inline void group(const family& f, std::int32_t place);
    inline bool one_launch(const reader& a, const reader& b) const;
    inline format_set largest_set() const;
    inline void wait(const pattern& chain, reader* first, reader* end);
    inline bool gated_later(const epilogue_matcher& follow, const output& o) const;
    inline bool read_by_matmuls(std::int32_t value) const;
    inline std::optional<match> quantized(const family& f, skeleton maker, const output& o);
    inline step& begin_group(std::int32_t place, std::int32_t matmul);
    inline void open_step(const family& f, std::int32_t place, std::size_t first);
    inline bool fill_step(const family& f, step& s, std::size_t first,
                          std::vector<made_value>& values);
    inline void close_step(const family& f, std::vector<made_value>& values);
    inline std::int32_t join(step& s, const output& o, const match* value);
    inline bool open(step& s, const output& o, std::optional<match>& value);

    // What the experts of a token make, added up by their launch: plan/combine.hpp.
    inline bool combining_pays(const problem& group, const output& apart, const output& together);

    // Writing it down: plan/store.hpp.
    inline void store(plan& out);
    inline void store_places(plan& out, const std::vector<std::int32_t>& stored) const;
    inline std::vector<std::int32_t> store_steps(plan& out);
    inline void store_launch(plan& out, std::int32_t stored, std::int32_t accepted) const;
    inline plan::group_head store_group(plan& out, const step& s, const drafted_output* outputs,
                                        addresses& address) const;
};

}  // namespace catena

#include "catena/plan/around.hpp"
#include "catena/plan/combine.hpp"
#include "catena/plan/contest.hpp"
#include "catena/plan/group.hpp"
#include "catena/plan/inside.hpp"
#include "catena/plan/layout.hpp"
#include "catena/plan/lone.hpp"
#include "catena/plan/store.hpp"
#include "catena/plan/trial.hpp"
