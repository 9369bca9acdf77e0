// combine: the sum over the slots of a token, whose experts made the results.
#pragma once

#include "catena/match/detail/epilogue/residual.hpp"

namespace CATENA_NAMESPACE {

template <>
struct part_match<epilogue_part::combine> {
    static constexpr bool takes(op kind) { return kind == op::mul || kind == op::add; }

    /// Rewrite SLOTS(MUL(y, weights)) to combine(y, weights), where SLOTS is ADD(.., ADD(VIEW 0,
    /// VIEW 1), .., VIEW last) of a token's slots, and rewrite ADD(that, residual) to a residual of
    /// the sum. If a shared expert joins the sum first, the residual is left to the norm's launch.
    static bool take(const epilogue_site& s, output& o) {
        const graph_index& g = s.g;
        const graph_view& view = s.view;
        if (!s.allowed.has(epilogue_part::combine) || o.renamed) return false;
        const tensor& made = view.at(o.result);
        const use times = g.only_reader(o.result);
        const bool weighted = times.node >= 0 && g.kind(times.node) == op::mul;
        const std::int32_t parts = weighted ? view.nodes[times.node] : o.result;
        const int slots = g.reader_count(parts);
        if (view.node(o.matmul).kind != op::mul_mat_id || made.ne[1] > output::max_slots ||
            slots != made.ne[1] || g.output(o.result) || g.read_outside(o.result))
            return false;
        const std::int32_t sum =
            view.nodes[g.readers(parts)[static_cast<std::size_t>(slots) - 1].node];
        const combination& c = s.sums.at(sum);
        if (!c.found() || c.results != o.result || (c.weights != no_tensor) != weighted ||
            (weighted && !contiguous(view.at(c.weights))))
            return false;
        output all = o;
        all.latest = weighted ? times.node : o.nodes.back();
        all.slot_weights = c.weights;
        for (const std::int32_t n : c.nodes) all.take(n);
        all.parts = all.parts | epilogue_part::combine;
        all.result = sum;
        o = all;
        if (!part_match<epilogue_part::residual>::take(s, all)) return true;
        const use next = reader_past_scale(g, all.result);
        if (next.node < 0 || !s.sums.whole(view.nodes[next.node]).found()) o = all;
        return true;
    }
};

}  // namespace CATENA_NAMESPACE
