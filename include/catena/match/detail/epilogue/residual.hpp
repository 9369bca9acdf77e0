// residual: the ADD of a tensor of the result's shape.
#pragma once

#include "catena/match/detail/epilogue/part.hpp"

namespace CATENA_NAMESPACE {

template <>
struct part_match<epilogue_part::residual> {
    static constexpr bool takes(op kind) { return kind == op::add; }

    /// Rewrite ADD(y, residual) to residual(y, residual). The ADD must be the only reader of y. An
    /// ADD to a sum of experts is left to the launch of the norm that reads the whole sum.
    static bool take(const epilogue_site& s, output& o) {
        if (!s.allowed.has(epilogue_part::residual)) return false;
        const use u = s.g.only_reader(o.result);
        if (u.node < 0 || s.g.kind(u.node) != op::add || u.slot > 1) return false;
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
