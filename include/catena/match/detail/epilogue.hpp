// The nodes behind a matmul that the group's launch takes over as the epilogue of its result. Each
// part has its rule in epilogue/; here is the order in which the rules are asked.
#pragma once

#include "catena/match/detail/epilogue/bias.hpp"
#include "catena/match/detail/epilogue/combine.hpp"
#include "catena/match/detail/epilogue/function.hpp"
#include "catena/match/detail/epilogue/glu.hpp"
#include "catena/match/detail/epilogue/residual.hpp"
#include "catena/match/detail/epilogue/scale.hpp"

#include <utility>

namespace CATENA_NAMESPACE {

namespace detail {

template <int... Parts>
constexpr bool some_part_takes(op kind, std::integer_sequence<int, Parts...>) {
    return (part_match<static_cast<epilogue_part>(Parts)>::takes(kind) || ...);
}

/// Takes over a scale, a factor or a bias. `u` is the only reader of the result so far.
inline bool take_of_matrix(const epilogue_site& s, output& o, use u) {
    switch (s.g.kind(u.node)) {
        case op::scale:
            return part_match<epilogue_part::scale>::take(s, o, u);
        case op::mul:
            return part_match<epilogue_part::factor>::take(s, o, u);
        case op::add:
        case op::add_id:
            return part_match<epilogue_part::bias>::take(s, o, u);
        default:
            return false;
    }
}

}  // namespace detail

/// Is the op one that a launch may take over behind a matmul? Whether it does depends on the
/// operands.
constexpr bool follows_matmul(op kind) {
    constexpr int matched = static_cast<int>(epilogue_part::quantize);  // which is no node's part
    return detail::some_part_takes(kind, std::make_integer_sequence<int, matched>());
}
/// Is the node of such an op, or of an op of the engine's own?
inline bool follows_matmul(const graph_index& g, std::int32_t node) {
    return follows_matmul(g.kind(node)) || own_op_at(g, node).function != gate_function::none;
}

/// The node that follows an output but is no part of it, if the reason is its factors, or memory
/// that is not aligned; then with that tensor.
inline obstacle left_behind(const graph_index& g, const output& o) {
    const use next = g.only_reader(o.result);
    if (next.node < 0 || !follows_matmul(g, next.node)) return {};
    if (const obstacle f = part_match<epilogue_part::factor>::left_behind(g, o, next); f.found())
        return f;
    const tensor& t = g.view.node(next.node);
    const std::int32_t result = t.kind == op::unary ? no_tensor : g.view.nodes[next.node];
    for (const std::int32_t index : {result, t.src[0], t.src[1]}) {
        if (index == no_tensor) continue;
        if (const obstacle f = plain_rows_at(g.view, index, next.node); f.why == reason::unaligned)
            return f;
    }
    return {};
}

/// The matmul with its scale or factor and its bias: the parts of one matrix.
inline output biased(const epilogue_site& s, std::int32_t matmul) {
    output out = plain_output(s.view, matmul);
    while (out.nodes.size() < node_list::max_biased) {
        const use next = s.g.only_reader(out.result);
        if (next.node < 0 || !detail::take_of_matrix(s, out, next)) break;
    }
    return out;
}

}  // namespace CATENA_NAMESPACE
