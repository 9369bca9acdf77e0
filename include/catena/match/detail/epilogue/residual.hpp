// residual: the ADD of a tensor of the result's shape, or of what a GET_ROWS makes of its only row.
#pragma once

#include "catena/match/detail/epilogue/part.hpp"

namespace CATENA_NAMESPACE {

template <>
struct part_match<epilogue_part::residual> {
    static constexpr bool takes(op kind) { return kind == op::add; }

    /// Rewrite ADD(y, residual) to residual(y, residual). The ADD must be the only reader of y. An
    /// ADD to a sum of experts is left to the launch of the norm that reads the whole sum.
    static bool take(const epilogue_site& s, output& o) {
        if (!take_one(s, o)) return false;
        take_second(s, o);
        return true;
    }

  private:
    /// Rewrite ADD(ADD(y, sum), residual), where y has few rows, to residual(bias(y, sum),
    /// residual): what is added to them first may be a bias of each.
    static void take_second(const epilogue_site& s, output& o) {
        constexpr epilogue_set behind_bias =
            function_parts | epilogue_part::bias | epilogue_part::combine;
        output both = o;
        if (!s.allowed.has(epilogue_part::bias) || o.parts.any(behind_bias) || o.renamed ||
            has_matrices(s.view, s.view.node(o.matmul)) || !s.few_rows(s.view.at(o.result)) ||
            !take_one(s, both) || both.renamed)
            return;
        both.reads[epilogue_part::bias] = o.reads[epilogue_part::residual];
        both.parts = both.parts | epilogue_part::bias;
        o = both;
    }

    static bool take_one(const epilogue_site& s, output& o) {
        if (!s.allowed.has(epilogue_part::residual)) return false;
        const std::int32_t pick = pick_of_only_row(s, o);
        if (pick < 0) return take_sum(s, o);
        output row = o;
        row.take(pick);
        row.result = s.view.nodes[pick];
        if (!take_sum(s, row)) return false;
        o = row;
        return true;
    }

    /// Rewrite GET_ROWS(y, ids) to y, where y has one row: any id that is valid picks that. By
    /// such a node engines leave out the tokens whose logits nobody asked for. -1: there is none.
    static std::int32_t pick_of_only_row(const epilogue_site& s, const output& o) {
        const use u = s.g.only_reader(o.result);
        const bool picks = u.node >= 0 && s.g.kind(u.node) == op::get_rows && u.slot == 0 &&
                           s.open(u.node) && one_row(s.view.at(o.result)) &&
                           s.follows(u.node, 2, o);
        return picks ? u.node : -1;
    }

    static bool take_sum(const epilogue_site& s, output& o) {
        const use u = s.g.only_reader(o.result);
        if (u.node < 0 || s.g.kind(u.node) != op::add || u.slot > 1 || !s.open(u.node))
            return false;
        const tensor& t = s.view.node(u.node);
        if (t.src[1 - u.slot] == o.result || !s.follows_name(u.node, u.slot, 2, o, true))
            return false;
        if (s.combined(u)) return false;
        const bool renamed = s.renamed(u.node, u.slot, o);
        const tensor& other = s.view.at(t.src[1 - u.slot]);
        if (!same_shape(other, t) || !s.columns_fit(other, renamed)) return false;
        o.renamed = renamed;
        o.reads[epilogue_part::residual].tensor = t.src[1 - u.slot];
        o.end(epilogue_part::residual, u.node, s.view.nodes[u.node]);
        return true;
    }
};

}  // namespace CATENA_NAMESPACE
