// What a stage of a chain finds in a graph, as hooks that the matcher calls. A stage has a header
// of its own, which specializes `stage_match` for its kind and defines the hooks that it needs.
//
// `Rewrite A to B` above a rule says which nodes A of the graph the rule takes over, and which
// stage B of the launch replaces them. Names in capitals are ggml's ops, v is the value that the
// stages before have made, and c is a number among the parameters of a node.
#pragma once

#include "catena/match/detail/match.hpp"

#include <cstdint>

namespace CATENA_NAMESPACE {

/// The place of a graph at which a chain may fit.
struct site {
    const graph_index& index;
    const graph_view& view;
    const pattern& chain;
    slot_sums& sums;
    std::int32_t node;          ///< position: a norm, or what may make a gated value
    const std::int32_t* steps;  ///< the step that covers each node, or -1; null: no steps yet

    bool open(std::int32_t position) const { return steps == nullptr || steps[position] < 0; }

    /// Does a node of this kind, which no step covers, compute what the norm reads?
    bool reads_open(op kind) const {
        const std::int32_t x = view.node(node).src[0];
        const std::int32_t maker = x == no_tensor ? -1 : index.position(x);
        return maker >= 0 && index.kind(maker) == kind && open(maker);
    }

    row_operand rows(std::int32_t t) const {
        return t == no_tensor ? row_operand{} : row_operand{t, 0, strides_of(view.at(t))};
    }

    /// Does a reader take the result so far whole, and keep its shape?
    bool goes_on(const match& m, const use& u) const {
        const tensor& value = view.at(m.activation);
        const std::int32_t name = view.node(u.node).src[u.slot];
        return names_whole(view, name, m.activation) && same_shape(view.at(name), value) &&
               same_shape(view.node(u.node), value);
    }

    /// Why a kernel cannot read `leaf` as one row of the chain's length, or the result of node
    /// `position`, which reads the leaf.
    obstacle vector_fits(const match& m, std::int32_t position, std::int32_t leaf) const {
        const tensor& w = view.at(leaf);
        const std::int64_t k = view.node(m.node).ne[0];
        if (!index.constant(leaf)) return {position, reason::weight_not_leaf};
        if (w.type != format::f32) return {position, reason::weight_not_f32};
        if (w.ne[0] != k || elements(w) != k)
            return {position, reason::weight_shape, elements(w), k};
        if (const obstacle f = rows_fit(index, position, leaf); f.found()) return f;
        return rows_fit(index, position, m.activation);
    }

    /// Does anybody read a sum but the norm of the chain?
    bool needed(std::int32_t sum) const {
        return index.reader_count(sum) != 1 || index.read_outside(sum) || index.output(sum);
    }
};

/// The hooks of a stage that asks for nothing.
struct idle_match {
    /// May the stage fit? Every chain asks this at every norm, so the test looks at little.
    static bool may_fit(const site&) { return true; }
    /// Takes over the nodes and operands of the stage. The matcher calls it first for the stage
    /// that makes the value, then for the stages behind that one, then for those before it, the
    /// nearest first.
    static obstacle take(const site&, match&) { return {}; }
};

template <stage_kind Kind>
struct stage_match;

}  // namespace CATENA_NAMESPACE
