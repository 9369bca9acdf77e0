// bias: the ADD of a vector over the rows, or of the vector of each expert.
#pragma once

#include "catena/match/detail/epilogue/part.hpp"

namespace CATENA_NAMESPACE {

template <>
struct part_match<epilogue_part::bias> {
    static constexpr bool takes(op kind) { return kind == op::add || kind == op::add_id; }

    /// Rewrite ADD(y, bias), where bias is one vector over the rows, and ADD_ID(y, biases, ids),
    /// which has a vector for each expert, to bias(y, bias).
    static bool take(const epilogue_site& s, output& o, use u) {
        if (!s.allowed.has(epilogue_part::bias) || o.parts.has(epilogue_part::bias)) return false;
        const bool by_expert = s.g.kind(u.node) == op::add_id;
        if (u.slot > 1) return false;
        const tensor& t = s.view.node(u.node);
        const tensor& made = s.view.node(o.matmul);
        if (by_expert && (u.slot != 0 || made.kind != op::mul_mat_id || t.src[2] != made.src[2]))
            return false;
        const std::int32_t bias = t.src[1 - u.slot];
        if (bias == no_tensor || !s.g.constant(bias) || (by_expert && t.src[0] != o.result) ||
            !s.follows_name(u.node, u.slot, by_expert ? 3 : 2, o, true))
            return false;
        const tensor& b = s.view.at(bias);
        const std::int64_t vectors = by_expert ? s.weight_of(o.matmul).ne[2] : 1;
        if (plain_rows(b) != reason::none || b.ne[0] != t.ne[0] || b.ne[1] != vectors ||
            elements(b) != t.ne[0] * vectors)
            return false;
        o.renamed = s.renamed(u.node, u.slot, o);
        o.reads[epilogue_part::bias].tensor = bias;
        o.end(epilogue_part::bias, u.node, s.view.nodes[u.node]);
        return true;
    }
};

}  // namespace CATENA_NAMESPACE
