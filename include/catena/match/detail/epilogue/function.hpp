// act: a function of the result of one matmul. own: an engine's own op of a result.
#pragma once

#include "catena/match/detail/epilogue/part.hpp"

namespace CATENA_NAMESPACE {

template <>
struct part_match<epilogue_part::act> {
    static constexpr bool takes(op kind) { return kind == op::unary || kind == op::sqr; }

    /// Rewrite UNARY(y) and SQR(RELU(y)) to act(y). The UNARY must be the only reader of y.
    static bool take(const epilogue_site& s, output& o) {
        if (!s.allowed.has(epilogue_part::act) || o.parts.has(epilogue_part::glu)) return false;
        const use u = s.g.only_reader(o.result);
        if (u.node < 0 || s.g.kind(u.node) != op::unary || engine_fuses(s.g, u.node)) return false;
        const use next = s.g.only_reader(s.view.nodes[u.node]);
        if (next.node >= 0 && s.g.kind(next.node) == op::sqr && take_node(s, o, next.node))
            return true;
        return take_node(s, o, u.node);
    }

  private:
    /// Takes over the UNARY or SQR at `node`, which computes f(y).
    static bool take_node(const epilogue_site& s, output& o, std::int32_t node) {
        const gated v = gated_at(s.g, node);
        const std::int32_t first = v.unary >= 0 ? v.unary : node;
        if (v.why.found() || !s.follows_name(first, 0, 1, o, false) ||
            !s.plain_result(node, s.renamed(first, 0, o)))
            return false;
        if (first != node) o.take(first);
        o.renamed = s.renamed(first, 0, o);
        o.params.function = v.function;
        o.params.alpha = v.alpha;
        o.params.limit = v.limit;
        o.end(epilogue_part::act, node, s.view.nodes[node]);
        return true;
    }
};

template <>
struct part_match<epilogue_part::own> {
    /// Which ops are an engine's own is for the engine to say: own_op_at tells.
    static constexpr bool takes(op) { return false; }

    /// Rewrite OWN(y) to own(y), where OWN is an op that the engine has declared. It must be the
    /// only reader of y.
    static bool take(const epilogue_site& s, output& o) {
        if (!s.allowed.has(epilogue_part::own)) return false;
        const use u = s.g.only_reader(o.result);
        const own_call call = u.node < 0 ? own_call{} : own_op_at(s.g, u.node);
        if (call.function == gate_function::none || engine_fuses(s.g, u.node) ||
            !s.follows_name(u.node, 0, 1, o, false))
            return false;
        o.renamed = s.renamed(u.node, 0, o);
        o.params.own = call;
        o.end(epilogue_part::own, u.node, s.view.nodes[u.node]);
        return true;
    }
};

/// Takes over the functions that follow, each once, in the order in which a launch applies them.
inline void take_functions(const epilogue_site& s, output& o) {
    part_match<epilogue_part::act>::take(s, o);
    part_match<epilogue_part::own>::take(s, o);
}

}  // namespace CATENA_NAMESPACE
