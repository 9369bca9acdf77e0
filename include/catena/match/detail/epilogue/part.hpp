// What a part of an epilogue finds in a graph. Each part specializes `part_match`, in a header of
// its own or beside a part like it. `takes` says of which op a node may be that the part takes
// over. The rule is `take`: false, and the output as it was, if the nodes that follow are no such
// part.
//
// `Rewrite A to B` above a rule says which nodes A the rule takes over, and which part B of the
// epilogue replaces them. Names in capitals are ggml's ops, and y is the result so far: the matmul
// with the parts that were found before.
#pragma once

#include "catena/match/detail/epilogue/output.hpp"
#include "catena/match/detail/experts.hpp"
#include "catena/match/detail/gated.hpp"
#include "catena/match/ggml_cuda.hpp"

namespace CATENA_NAMESPACE {

/// The graph, the parts that a launch may have, and what rules ask of a node alike.
struct epilogue_site {
    slot_sums& sums;
    epilogue_set allowed;
    skeleton kind = skeleton::matvec;     ///< the skeleton of the launch
    const std::int32_t* steps = nullptr;  ///< the step that covers each node, or -1; null: no steps
    const graph_index& g = sums.index;
    const graph_view& view = g.view;

    const tensor& weight_of(std::int32_t matmul) const { return view.at(view.node(matmul).src[0]); }

    /// Has a tensor one row, or as few as a matvec makes? Then each may have operands of its own.
    bool few_rows(const tensor& t) const { return kind == skeleton::matvec || one_row(t); }
    /// Is the result of node `position` added to a sum of experts before a norm? Then the norm's
    /// launch takes over both, unless there are few tokens.
    bool before_combination(std::int32_t position) const {
        return !few_rows(view.node(position)) && combined(g.only_reader(view.nodes[position]));
    }
    /// Is `u` the ADD of experts' results before a norm, which the norm's launch takes over? With
    /// few tokens it does not if a step has made the sum of the slots: whoever joins it adds it.
    bool combined(use u) const {
        if (u.node < 0 || u.slot > 1 || g.kind(u.node) != op::add) return false;
        const std::int32_t sum = view.node(u.node).src[1 - u.slot];
        return (!few_rows(view.node(u.node)) || open(g.position(sum))) &&
               combined_before_norm(sums, sum, view.nodes[u.node]);
    }
    /// Does no step cover the node?
    bool open(std::int32_t position) const {
        return steps == nullptr || position < 0 || steps[position] < 0;
    }

    /// Can a launch read or write `t` column by column? A tensor of another shape than the matmul's
    /// result (`renamed`) must have no gaps.
    static bool columns_fit(const tensor& t, bool renamed) {
        return plain_rows(t) == reason::none && (renamed ? contiguous(t) : even_columns(t));
    }
    bool plain_result(std::int32_t node, bool renamed) const {
        return columns_fit(view.node(node), renamed);
    }

    /// May `node` take the result of `o` over, element by element?
    bool follows(std::int32_t node, int sources, const output& o) const {
        const tensor& t = view.node(node);
        return !node_fits(g, node, sources).found() && same_shape(t, view.at(o.result)) &&
               plain_result(node, o.renamed);
    }

    /// May `node` do that if its source `slot` is another name of the whole result? The result then
    /// takes the shape of the name. `rows`: the name must have whole rows of the matmul.
    bool follows_name(std::int32_t node, int slot, int sources, const output& o, bool rows) const {
        const tensor& t = view.node(node);
        const std::int32_t name = t.src[slot];
        return !node_fits(g, node, sources).found() && names_whole(view, name, o.result) &&
               same_shape(t, view.at(name)) && (!rows || t.ne[0] == view.node(o.matmul).ne[0]) &&
               plain_result(node, renamed(node, slot, o));
    }
    /// Has the result another shape than the matmul's if `node` takes it over by its source `slot`?
    bool renamed(std::int32_t node, int slot, const output& o) const {
        return o.renamed || view.node(node).src[slot] != o.result;
    }

  private:
    /// Are columns equally far apart through all dimensions?
    static bool even_columns(const tensor& t) {
        return t.ne[3] == 1 && (t.ne[2] == 1 || t.nb[2] == t.nb[1] * t.ne[1]);
    }
};

template <epilogue_part Part>
struct part_match;

}  // namespace CATENA_NAMESPACE
