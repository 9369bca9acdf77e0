// Nodes of the engine that are planned written out, and run whole: which of them a plan takes over,
// and the plan by the engine's own positions.
#pragma once

#include "catena/match/detail/index.hpp"
#include "catena/match/moe_ffn.hpp"
#include "catena/plan/detail/result/contents.hpp"
#include "catena/plan/detail/result/fallback.hpp"
#include "catena/plan/plan.hpp"
#include "catena/plan/step.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

namespace CATENA_NAMESPACE {

namespace detail {

/// What a plan of a view in which nodes are written out says, for the engine's view.
class engine_places {
  public:
    explicit engine_places(const written_out& nodes) : nodes_(nodes) {}

    std::int32_t node(std::int32_t position) const {
        return position < 0 ? position : nodes_.engine_node(position);
    }
    std::int32_t tensor(std::int32_t index) const {
        return index == no_tensor ? index : nodes_.engine_tensor(index);
    }
    /// Some sentences name a second node, or a tensor.
    obstacle of(obstacle o) const {
        const char* const sentence = reason_words[static_cast<int>(o.why)].sentence;
        o.node = node(o.node);
        if (std::strstr(sentence, "node {have}") != nullptr)
            o.have = node(static_cast<std::int32_t>(o.have));
        if (std::strstr(sentence, "tensor {have}") != nullptr)
            o.have = tensor(static_cast<std::int32_t>(o.have));
        return o;
    }

  private:
    const written_out& nodes_;
};

/// The MOE_FFNs of a view that a plan may still take over, and what keeps the others from it.
class whole_nodes {
  public:
    whole_nodes(const graph_view& view, std::vector<std::uint8_t>&& all) : marks_(std::move(all)) {
        for (std::int32_t i = 0; i < view.node_count; ++i) {
            moe_ffn m;
            if (marks_[at(i)] == 0) continue;
            const bool placed = view.node(i).data != nullptr && view.scratch == nullptr;
            const obstacle why = read_moe_ffn(view, i, m);
            if (why.found() || placed)
                leave(why.found() ? why : obstacle{i, reason::moe_ffn_scratch}, {});
        }
    }

    /// By position.
    const std::vector<std::uint8_t>& marks() const { return marks_; }
    const std::vector<left_over>& left() const { return left_; }

    /// Leaves those of which a plan does not cover every launch. False: it covers all of them.
    bool leave_partial(const written_out& nodes, const graph_index& index, const plan& made) {
        bool any = false;
        for (std::int32_t i = 0, end = 0; i < index.view.node_count; i = end) {
            const std::int32_t whole = nodes.engine_node(i);
            obstacle partial{whole, reason::moe_ffn_in_part};
            std::int32_t first = -1;
            for (end = i; end < index.view.node_count && nodes.engine_node(end) == whole; ++end) {
                if (!index.acts(end)) continue;
                ++partial.need;
                if (made.at(end).role != role::engine) continue;
                ++partial.have;
                if (first < 0) first = end;
            }
            if (marks_[at(whole)] == 0 || partial.have == 0) continue;
            left_over word = why_left(made, first);
            word.what = engine_places(nodes).of(word.what);
            leave(partial, {});
            leave(word.what, word.nearest);
            any = true;
        }
        return any;
    }

  private:
    std::vector<std::uint8_t> marks_;
    std::vector<left_over> left_;

    static std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }

    void leave(const obstacle& why, const rejection& nearest) {
        marks_[at(why.node)] = 0;
        left_.push_back({why, nearest});
    }
};

/// Steps, and who does the work of each node, by the engine's positions.
inline void place_steps(const engine_places& places, const plan_contents& made,
                        plan_contents& out) {
    const auto at = [](std::int32_t i) { return static_cast<std::size_t>(i); };
    for (std::size_t i = 0; i < made.nodes.size(); ++i) {
        const std::int32_t engine = places.node(static_cast<std::int32_t>(i));
        node_plan& to = out.nodes[at(engine)];
        const bool launches = to.role == role::launch;
        to = made.nodes[i];  // the last of its nodes computes its result
        if (launches) to.role = role::launch;
        out.first_step_at[at(engine) + 1] = made.first_step_at[i + 1];
    }
    out.covered.clear();
    for (step& s : out.steps) {
        s.launch_at = places.node(s.launch_at);
        const std::int32_t* const nodes = made.covered.data() + s.first_node;
        s.first_node = static_cast<std::int32_t>(out.covered.size());
        for (std::int32_t n = 0; n < s.node_count; ++n)
            if (n == 0 || places.node(nodes[n]) != out.covered.back())
                out.covered.push_back(places.node(nodes[n]));
        s.node_count = static_cast<std::int32_t>(out.covered.size()) - s.first_node;
    }
}

/// A plan of the view in which nodes are written out, as a plan of the engine's view.
inline plan at_engine_nodes(const graph_view& view, const written_out& nodes, const plan& made,
                            const std::vector<left_over>& left) {
    const engine_places places(nodes);
    const shared<plan_contents> out(new plan_contents(made.contents()));
    out->nodes.assign(static_cast<std::size_t>(view.node_count), {});
    out->first_step_at.assign(out->nodes.size() + 1, 0);
    place_steps(places, made.contents(), *out);
    for (planned_chain& c : out->chains) {
        c.node = places.node(c.node);
        c.sum = places.node(c.sum);
        c.activation = places.tensor(c.activation);
        c.norm_apart = places.of(c.norm_apart);
    }
    for (left_over& l : out->left) l.what = places.of(l.what);
    out->left.insert(out->left.end(), left.begin(), left.end());
    std::stable_sort(
        out->left.begin(), out->left.end(),
        [](const left_over& a, const left_over& b) { return a.what.node < b.what.node; });
    for (stored_args& a : out->args) a.missing = places.node(a.missing);
    out->written_out = made;
    return plan(shared<const plan_contents>(out));
}

}  // namespace detail

}  // namespace CATENA_NAMESPACE
