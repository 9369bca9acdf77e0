// What one launch could hold of the readers of a value, each matmul with what follows it.
#pragma once

#include "catena/match/detail/epilogue.hpp"
#include "catena/plan/detail/draft/attempt.hpp"
#include "catena/plan/detail/find/readers.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace CATENA_NAMESPACE {

/// Is the value the activation of a matmul that may read a quantized or rounded copy of it?
inline bool read_as_copy(const graph_index& g, std::int32_t value) {
    const array_view<use> readers = g.readers(g.root(value));
    return std::any_of(readers.begin(), readers.end(), [&g](const use& u) {
        return is_matmul(g.view.node(u.node).kind) && u.slot == 1 &&
               (info(weight_type(g.view, u.node)).role == format_role::weight ||
                warpgroup_layout(weight_type(g.view, u.node)) != format::unknown);
    });
}

/// What a node of an output touches in the output's step. `lies`: the matmul reads its activation
/// where the graph has it, not out of the workspace.
inline covered_node node_of(const graph_index& g, const output& o, std::int32_t node, bool lies) {
    const tensor& t = g.view.node(node);
    covered_node c{node, g.view.nodes[node] != o.result, 0, 0};
    if (is_matmul(t.kind)) {
        c.internal = lies ? 0u : 2u;  // source 1
        return c;
    }
    c.internal = fed_by(g, node, o.nodes);
    for (int slot = 0; slot < 2; ++slot)
        if (o.reads_by_element(t.src[slot])) c.by_element |= 1u << slot;
    c.into = o.result;
    return c;
}

class output_finder : drafter {
  public:
    using drafter::drafter;

    /// The outputs of the first reader and of those near it that run with it; two that one GLU
    /// gates are one output. The readers count as dealt.
    std::vector<output> outputs(const pattern& chain, reader* first, reader* end) {
        const epilogue_site site{sums_, chain.epilogue, first->served_by,
                                 draft_.accepted.actions()};
        mates_.clear();
        mates_.push_back(first);
        const reader* picked = first->expert ? first : nullptr;  // whose ids the launch has
        reader* const until = end - first > readers_together ? first + readers_together : end;
        for (reader* r = first + 1; r != until; ++r) {
            if (r->dealt || !r->servable() || !one_launch(view_, *first, *r)) continue;
            if (picked != nullptr && !one_launch(view_, *picked, *r)) continue;
            if (picked == nullptr && r->expert) picked = r;
            mates_.push_back(r);
        }
        const format_set set = largest_set();
        std::vector<output> found = std::exchange(spare_, {});
        found.clear();
        found.reserve(mates_.size());
        for (const bool by_ids : {true, false})  // dense members stand behind the others
            for (reader* r : mates_) {
                if (r->expert != by_ids || !set.has(r->weight)) continue;
                r->dealt = true;
                found.push_back(biased(site, r->node));
            }
        for (std::size_t i = 0; i < found.size(); ++i) {
            output& o = found[i];
            const std::int32_t gate = glu::node_of(site, o);
            if (gate < 0) continue;
            const auto up = std::find_if(
                found.begin() + static_cast<std::ptrdiff_t>(i) + 1, found.end(),
                [&](const output& other) { return glu::node_of(site, other) == gate; });
            const bool alone = up == found.end();
            if (alone && g_.kind(gate) != op::glu) continue;
            const gated value = gated_at(g_, gate);
            if (glu::take(site, o, o, gate, value) || alone) continue;
            const bool first_gates = glu::take(site, o, *up, gate, value);
            if (!first_gates && !glu::take(site, *up, o, gate, value)) continue;
            if (!first_gates) o = *up;
            found.erase(up);
        }
        for (output& o : found) {
            const use next = g_.only_reader(o.result);
            const bool function = next.node >= 0 && g_.kind(next.node) == op::unary;
            if (function && gated_later(site, o)) continue;
            take_functions(site, o);
            part_match<epilogue_part::residual>::take(site, o);
        }
        return found;
    }

    /// Takes back what outputs() returned: its memory serves the next call.
    void reuse(std::vector<output>&& done) { spare_ = std::move(done); }

  private:
    using glu = part_match<epilogue_part::glu>;

    std::vector<output> spare_;
    std::vector<reader*> mates_;  // scratch: readers that one launch could hold, formats aside

    /// The format set of the table's rows that holds most of the readers that could run with the
    /// first. Among equals it is the first in the table.
    format_set largest_set() const {
        const reader& first = *mates_.front();
        format_set best;
        std::ptrdiff_t most = 0;
        for (const row_run& run : known_.rows.groups_of(first.weight)) {
            const product_computation& c = run.computes.product();
            if (c.kind != first.served_by || c.activation != first.layout || !c.stages.empty())
                continue;
            const std::ptrdiff_t n =
                std::count_if(mates_.begin(), mates_.end(),
                              [&c](const reader* r) { return c.weights.has(r->weight); });
            if (n > most) best = c.weights, most = n;
            if (most == static_cast<std::ptrdiff_t>(mates_.size())) break;
        }
        return best;
    }

    /// Is there a MUL that a row step does together with the function of `o`: of a value on its way
    /// to matmuls, or to what experts made?
    bool gated_later(const epilogue_site& site, const output& o) const {
        const std::int32_t node = glu::node_of(site, o);
        if (node < 0 || g_.kind(node) != op::mul) return false;
        if (site.before_combination(node)) return true;
        if (!read_as_copy(g_, view_.nodes[node])) return false;
        const gated v = gated_at(g_, node);
        return !v.why.found() && v.unary >= 0 && g_.root(view_.node(v.unary).src[0]) == o.result;
    }
};

}  // namespace CATENA_NAMESPACE
