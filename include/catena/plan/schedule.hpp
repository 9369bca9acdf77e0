// The schedule under construction, and the proof that a step may stand where it stands. The
// engine's order is right by definition; a step moves some nodes to its launch position. A move is
// legal when no two actions that touch the same memory, one of them writing, change their order.
#pragma once

#include "catena/plan/memory.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace catena {

/// What a node of a step really does to memory: less than the engine's node would.
struct covered_node {
    std::int32_t node = -1;
    bool elided = false;  ///< its result is not written
    std::uint32_t internal =
        0;  ///< bit s: source s comes from the step itself or from the workspace
};

/// A step that is being tried or was accepted.
struct move {
    std::int32_t launch_at = -1;
    std::int32_t also_reads = no_tensor;  ///< an input that belongs to none of its nodes
    std::vector<covered_node> nodes;      ///< in node order

    bool has(std::int32_t node) const {
        return std::any_of(nodes.begin(), nodes.end(),
                           [node](const covered_node& c) { return c.node == node; });
    }
};

class schedule {
  public:
    explicit schedule(const graph_index& g)
        : g_(g),
          actions_(static_cast<std::size_t>(g.view.node_count)),
          step_of_(actions_.size(), -1),
          first_at_(actions_.size(), -1) {
        for (std::int32_t i = 0; i < g.view.node_count; ++i) actions_[at(i)].node = i;
    }

    bool covered(std::int32_t node) const { return step_of_[at(node)] >= 0; }
    std::int32_t step_of(std::int32_t node) const { return step_of_[at(node)]; }
    const covered_node& action(std::int32_t node) const { return actions_[at(node)]; }

    /// The first node that forbids `node`, one of the nodes of step `m`, to happen at the step's
    /// position; -1 when nothing does. Looked at: every node that it passes, and every step
    /// launched on the way.
    std::int32_t blocker(const move& m, const covered_node& node) const {
        const std::int32_t low = std::min(m.launch_at, node.node);
        const std::int32_t high = std::max(m.launch_at, node.node);
        if (low == high) return -1;
        for (std::int32_t v = low; v <= high; ++v) {
            if (!m.has(v) && conflict(node, actions_[at(v)])) return v;
            for (std::int32_t s = first_at_[at(v)]; s >= 0; s = next_[at(s)]) {
                const move& other = accepted_[at(s)];
                for (const covered_node& c : other.nodes)
                    if (conflict(node, c)) return c.node;
                if (other.also_reads != no_tensor && !node.elided &&
                    may_meet(g_, g_.view.nodes[node.node], other.also_reads))
                    return v;
            }
        }
        return -1;
    }

    /// The first node that forbids step `m`; -1: it is legal but for what its nodes do to each
    /// other.
    std::int32_t blocker(const move& m) const {
        for (const covered_node& c : m.nodes)
            if (const std::int32_t v = blocker(m, c); v >= 0) return v;
        return -1;
    }

    /// Takes a legal step into the schedule; steps at one position run in the order of acceptance.
    std::int32_t accept(move m) {
        const auto step = static_cast<std::int32_t>(accepted_.size());
        for (const covered_node& c : m.nodes) {
            step_of_[at(c.node)] = step;
            actions_[at(c.node)] = c;
        }
        next_.push_back(first_at_[at(m.launch_at)]);
        first_at_[at(m.launch_at)] = step;
        accepted_.push_back(std::move(m));
        return step;
    }

    const std::vector<move>& steps() const { return accepted_; }

  private:
    const graph_index& g_;
    std::vector<covered_node> actions_;  // per node: what it does, as engine node or in its step
    std::vector<std::int32_t> step_of_;
    std::vector<std::int32_t> first_at_, next_;  // steps by launch position, as lists
    std::vector<move> accepted_;

    static std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }

    bool acts(const covered_node& c) const {
        const tensor& t = g_.view.node(c.node);
        return !launches_nothing(t.kind) && elements(t) != 0;
    }

    /// Does `writer` write what `other` reads?
    bool feeds(const covered_node& writer, const covered_node& other) const {
        if (writer.elided) return false;
        const tensor& t = g_.view.node(other.node);
        for (int s = 0; s < max_src; ++s) {
            if (t.src[s] == no_tensor || (other.internal >> s & 1u) != 0) continue;
            if (g_.constant(t.src[s])) continue;
            if (may_meet(g_, g_.view.nodes[writer.node], t.src[s])) return true;
        }
        return false;
    }

    bool conflict(const covered_node& a, const covered_node& b) const {
        if (!acts(a) || !acts(b)) return false;
        if (feeds(a, b) || feeds(b, a)) return true;
        return !a.elided && !b.elided && may_meet(g_, g_.view.nodes[a.node], g_.view.nodes[b.node]);
    }
};

}  // namespace catena
