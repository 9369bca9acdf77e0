// Which activations a launch of matrices could compute itself (inside.hpp).
#pragma once

#include "catena/plan/detail/draft/attempt.hpp"

#include <algorithm>

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

class inside_judge : drafter {
  public:
    using drafter::drafter;

    /// What the readers of a match would compute of it. `f32_by_others`: somebody reads the f32
    /// that they write.
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

  private:
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
};

}  // namespace CATENA_NAMESPACE
