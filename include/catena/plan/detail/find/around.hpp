// Questions about the neighbors of a node. They are asked before its chain is matched, because they
// are cheaper.
#pragma once

#include "catena/match/ggml_cuda.hpp"

namespace CATENA_NAMESPACE {

/// Is it a MUL of which no factor is the result of a UNARY?
inline bool mere_product(const graph_index& g, std::int32_t node) {
    const auto by_unary = [&](std::int32_t factor) {
        if (factor == no_tensor) return false;
        const std::int32_t maker = g.position(value_behind(g.view, factor));
        return maker >= 0 && g.kind(maker) == op::unary;
    };
    const tensor& t = g.view.node(node);
    return t.kind == op::mul && !by_unary(t.src[0]) && !by_unary(t.src[1]);
}

/// Does a matmul read the value, by any name and as any operand?
inline bool read_by_matmul(const graph_index& g, std::int32_t value) {
    const std::int32_t root = g.root(value);
    return g.read_by(root, op::mul_mat) || g.read_by(root, op::mul_mat_id);
}

/// Does an engine compute the value in one launch? Of values that are no norm this is assumed.
inline bool engine_needs_one(const graph_view& view, const match& m) {
    return !has_norm(m.stages) || engine_of(view).launches(view, m) < 2;
}

}  // namespace CATENA_NAMESPACE
