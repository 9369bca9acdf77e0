// own: a node that applies one of the engine's own ops to the value so far.
#pragma once

#include "catena/match/detail/row/stage.hpp"
#include "catena/match/ggml_cuda.hpp"

namespace CATENA_NAMESPACE {

template <>
struct stage_match<stage_kind::own> : idle_match {
    static bool may_fit(const site& s) { return s.index.ops != nullptr; }

    /// Rewrite OWN(v) to own(v), where OWN is an op that the engine has declared
    /// (match/own_ops.hpp). The node must be the only reader of v.
    static obstacle take(const site& s, match& m) {
        const use u = s.index.only_reader(m.activation);
        const own_call call = u.node < 0 ? own_call{} : own_op_at(s.index, u.node);
        if (call.function == gate_function::none || engine_fuses(s.index, u.node))
            return {m.node, reason::no_own_op};
        if (const obstacle f = node_fits(s.index, u.node, 1); f.found()) return f;
        if (!s.goes_on(m, u)) return {u.node, reason::reshaped};
        m.take({stage_kind::own, u.node});
        m.params.own = call;
        m.activation = s.view.nodes[u.node];
        return rows_fit(s.index, u.node, m.activation);
    }
};

}  // namespace CATENA_NAMESPACE
