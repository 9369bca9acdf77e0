// Activations that are computed in the launch of their readers (policy.placement). If only the
// matrices of one launch read a norm or a gated value, or need a quantized copy of a value of the
// engine's, that launch can compute it, and no row step is needed. A launch of float weights that
// computes a norm also writes it, as f32 and as q8_1, for all later readers. The table says which
// groups can do this; the cost model or medians say whether it takes less time.
#pragma once

#include "catena/plan/detail/draft/group.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

namespace CATENA_NAMESPACE {

/// Which readers of a match are in the launch that computes its activation, and what that launch
/// writes for other readers.
struct inside_scope {
    bool norm = false;           ///< the activation is a norm, not a value that is quantized
    stage_set gated;             ///< the stages of an activation that is gated; empty: it is not
    std::int32_t gate_k = 0;     ///< elements of a head that is gated
    bool own = false;            ///< the gate has a function of the engine's own
    bool float_weights = false;  ///< float weights read the norm, and are held
    format_set weights;          ///< weights of the matvecs that make their activation
    format_set written;          ///< formats in which the launch writes the norm

    bool holds(const reader& r) const {
        return float_weights
                   ? r.servable() && r.float_weight() && !r.expert && weights.has(r.weight)
                   : r.quantized();
    }
    void make(product_problem& p) const {
        if (norm) {
            p.needs.stages = stage_kind::rms_norm | stage_kind::mul_weight;
            p.needs.emits = written;
            return;
        }
        p.needs.activation = format::f32;
        p.needs.stages = gated;
        p.gate_k = gate_k;
        p.needs.own = p.needs.own || own;
    }
};

class inside_fuser : drafter {
  public:
    inside_fuser(draft& drafted, output_finder& outputs, group_trial& trial, grouper& groups,
                 weigher& weigh)
        : drafter(drafted), outputs_(outputs), trial_(trial), groups_(groups), weigh_(weigh) {}

    /// Makes an activation and its readers one step and takes the match, if that is legal and takes
    /// less time. Else it says why not and changes nothing. `f32_by_others`: somebody reads the f32
    /// that the step writes.
    obstacle fuse(const family& f, match& m, bool f32_by_others) {
        const inside_scope scope = scope_of(m, f32_by_others);
        if (const obstacle no = fits(m, scope); no.found()) return no;
        if (scope.float_weights) f32_by_others = scope.written.has(format::f32);
        product_problem bare;
        for (const reader& r : m.readers) {
            if (!scope.holds(r)) continue;
            if (bare.member_count == max_members) return {m.node, reason::norm_shared};
            if (bare.member_count == 0)
                bare = empty_group(view_, skeleton::matvec, r.layout, r.node), scope.make(bare);
            add_member(view_, bare, plain_output(view_, r.node), false, true);
        }
        obstacle why = weigh_.inside(m, bare);  // most that do not pay are seen by that
        if (why.found()) return why;

        const draft::mark before = draft_.here();
        const bool f32_needed = std::exchange(m.f32_needed, f32_by_others);
        const std::int32_t index = draft_.add_activation(choices_.chain_of(f, m), std::move(m), -1);
        match& found = draft_.activations.back().found;
        std::vector<output> waiting;
        std::optional<attempt> tried = try_step(f, index, scope, waiting);
        why = tried ? weigh_.inside(found, tried->step().what.product())
                    : obstacle{found.node, reason::norm_split};
        if (why.found()) {
            tried.reset();
            for (reader& r : found.readers) r.dealt = false;
            m = std::move(found);
            m.f32_needed = f32_needed;
            draft_.back_to(before);
            return why;
        }
        for (const output& o : waiting)  // these will read what it writes
            for (reader& r : found.readers)
                if (r.node == o.matmul || r.node == o.up) r.dealt = false;
        if (!scope.float_weights) draft_.activations.back().layouts = {};
        if (scope.norm || !scope.gated.empty())
            draft_.activations.back().made_by = static_cast<std::int32_t>(draft_.steps.size()) - 1;
        groups_.close(*tried);
        groups_.group(f, index);  // who reads what the step writes, or the engine's f32
        return {};
    }

  private:
    output_finder& outputs_;
    group_trial& trial_;
    grouper& groups_;
    weigher& weigh_;

    inside_scope scope_of(const match& m, bool f32_by_others) const {
        const auto multiplies = [](const reader& r) { return r.servable() && r.float_weight(); };
        const auto any = [&m](auto&& is) {
            return std::any_of(m.readers.begin(), m.readers.end(), is);
        };
        inside_scope scope;
        scope.norm = has_norm(m.stages) && !gates(m.stages);
        if (gates(m.stages) && !m.copies()) {
            scope.gated = m.stages;
            scope.gate_k = static_cast<std::int32_t>(shape_of(view_, m).ne[0]);
            scope.own = is_own(m.params.function);
        }
        scope.float_weights = scope.norm && any(multiplies);
        scope.weights = known_.norms_inside;
        if (!scope.float_weights) return scope;
        scope.written = m.layouts();
        if (f32_by_others || any([&](const reader& r) { return multiplies(r) && !scope.holds(r); }))
            scope.written = scope.written | format::f32;
        return scope;
    }

    /// Could a matvec that holds the readers in scope compute this activation? It reads f32 rows
    /// where they lie and has dense matrices alone. If float weights read the norm, the matvec
    /// writes q8_1 for the other readers.
    obstacle fits(const match& m, const inside_scope& scope) const {
        const auto no = [&m](reason why) { return obstacle{m.node, why}; };
        if (scope.float_weights && !contiguous(view_.at(m.activation)))
            return no(reason::no_norm_inside);  // it may be written, row behind row
        constexpr stage_set made = stage_kind::rms_norm | stage_kind::mul_weight;
        const bool norm = m.stages == made && m.taken.size() == 2;  // without a SCALE
        const bool copied = m.copies() && &rows_of(view_, m) == &view_.at(m.activation);
        const bool gated = !m.copies() && gated_heads(m);
        if (!norm && !copied && !gated && !m.stages.empty()) return no(reason::no_norm_inside);
        if (known_.asked.pick.same_bits) return no(reason::same_bits);
        if (!scope.float_weights && m.f32_needed) return no(reason::norm_shared);
        const reader* first = nullptr;
        for (const reader& r : m.readers) {
            if (r.quantized() && r.layout != format::q8_1) return no(reason::no_norm_inside);
            if (!scope.holds(r)) continue;
            if (first == nullptr) first = &r;
            if (!known_.norms_inside.has(r.weight)) return no(reason::no_norm_inside);
            if (r.expert) return no(reason::norm_shared);
            if (gated) continue;
            const std::int32_t read = norm ? m.reads[operand::x].tensor : view_.node(r.node).src[1];
            const tensor& x = view_.at(read);
            const tensor& from = copied ? view_.at(m.reads[operand::gate].tensor) : x;
            const bool aligned =
                base_alignment(from) == 16 && !detail::check_columns(view_, read).found() &&
                (!norm || base_alignment(view_.at(m.reads[operand::weight].tensor)) == 16);
            const bool whole_rows =
                view_.at(view_.node(r.node).src[1]).ne[0] == x.ne[0] &&
                (m.quant_k == x.ne[0] || (scope.float_weights && m.quant_k == 0));
            if (!aligned || !whole_rows || quotient(elements(x), x.ne[0]) > known_.norm_columns)
                return no(reason::no_norm_inside);
        }
        return first != nullptr ? obstacle{} : no(reason::norm_shared);
    }

    /// Is the activation gated, head by head of x, which has no gaps?
    bool gated_heads(const match& m) const {
        constexpr stage_set of_norm =
            stage_kind::rms_norm | stage_kind::mul_weight | stage_kind::gate;
        const bool norm = m.stages == of_norm;
        if (!norm && m.stages != stage_set::of(stage_kind::glu)) return false;
        const row_operand& x = m.reads[operand::x];
        const row_shape shape = shape_of(view_, m);
        const bool in_rows = shape.recut || shape.ne[1] == 1 || x.at.nb1 == 4 * shape.ne[0];
        return x.tensor != no_tensor && m.params.norm_scale == 1 && in_rows &&
               shape.ne[2] * shape.ne[3] == 1 && problem_of(view_, m, m.layouts()).alignment == 16;
    }

    /// Tries a step of the readers in scope of an activation. What it has no room for stays in
    /// `waiting`. None: not all of these readers can be in it, or a reader of what it writes runs
    /// too early.
    std::optional<attempt> try_step(const family& f, std::int32_t activation,
                                    const inside_scope& scope, std::vector<output>& waiting) {
        match& found = draft_.activation(activation).found;
        std::vector<reader>& readers = found.readers;
        const std::size_t left = draft_.left.size();
        reader* const end = readers.data() + readers.size();
        const auto held = [&scope](const reader& r) { return scope.holds(r); };
        waiting = outputs_.outputs(f.common, std::find_if(readers.data(), end, held), end);
        attempt tried = trial_.begin(activation, waiting.front().matmul);
        scope.make(tried.step().what.product());
        if (scope.float_weights && !found.layouts().empty()) tried.writes(found);
        if (!found.stages.empty()) cover_row(g_, found, tried.trial());
        if (!trial_.fill(f, tried, waiting)) return std::nullopt;
        const bool whole = waiting.empty() && draft_.left.size() == left &&
                           std::none_of(readers.begin(), readers.end(), [&](const reader& r) {
                               return scope.holds(r) && !r.dealt;
                           });
        const auto too_early = [&](const reader& r) {
            return r.quantized() && r.node < tried.trial().launch_at;
        };
        const bool right = scope.float_weights
                               ? (whole || writes_f32(found, tried)) &&
                                     std::none_of(readers.begin(), readers.end(), too_early)
                               : whole;
        return right ? std::optional<attempt>(std::move(tried)) : std::nullopt;
    }

    /// Lets the step that is tried write its norm as f32, for float weights that cannot join it.
    bool writes_f32(match& m, attempt& tried) {
        if (m.f32_needed) return true;
        m.f32_needed = true;
        product_problem& what = tried.step().what.product();
        what.needs.emits = what.needs.emits | format::f32;
        for (covered_node& c : tried.trial().nodes)
            if (view_.nodes[c.node] == m.activation) c.elided = false;
        const picked& found = choices_.pick(what);
        if (found.row >= 0) run_by(tried.step(), found);
        return found.row >= 0 && tried.blocker() < 0;
    }
};

}  // namespace CATENA_NAMESPACE
