// What may follow a matmul in its launch. The matcher takes such nodes over, the order of a graph
// moves them to their matmul, and workspace slots are kept until the last of them.
#pragma once

#include "catena/match/detail/gated.hpp"

namespace CATENA_NAMESPACE {

/// Is the node's op one that a launch may take over behind a matmul? Whether a launch does depends
/// on the operands.
inline bool follows_matmul(const graph_index& g, std::int32_t node) {
    switch (g.kind(node)) {
        case op::scale:
        case op::mul:
        case op::add:
        case op::add_id:
        case op::glu:
        case op::unary:
        case op::sqr:
            return true;
        default:
            return own_op_at(g, node).function != gate_function::none;
    }
}

/// The most nodes that follow a matmul one after the other in its launch, other matmuls aside: a
/// scale or a factor, a bias, two that gate, and an own op or a residual.
inline constexpr int max_followers = 5;

}  // namespace CATENA_NAMESPACE
