// The schedule under construction, and the proof that a step may stand where it stands. The
// engine's order is right by definition; a step moves some nodes to its launch position. That is
// legal when no two actions that touch the same memory, one of them writing, change their order.
#pragma once

#include "catena/plan/detail/order/memory.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

namespace CATENA_NAMESPACE {

/// The reads and writes that a node of a step really makes: fewer than the engine's node makes.
struct covered_node {
    std::int32_t node = -1;
    bool elided = false;  ///< the result is not written
    /// Bit s: source s comes from the step itself or from the workspace.
    std::uint32_t internal = 0;
    std::uint32_t by_element = 0;   ///< bit s: the thread that reads an element of source s is the
                                    ///< one that writes it, later
    std::int32_t into = no_tensor;  ///< the result that has these elements, or parts
    std::uint32_t by_part = 0;      ///< by_element, if whole parts of source s are written, each of
                                    ///< which the threads deal with alike
    std::int64_t part_bytes = 0;
};

/// A step that is being tried.
struct trial_step {
    std::int32_t launch_at = -1;
    bool row = false;  ///< a row step: all its nodes deal elements to threads alike
    /// A row step of one row, which is read whole before any of it is written.
    bool at_once = false;
    std::int32_t also_reads = no_tensor;  ///< an input that belongs to none of its nodes
    /// Positions between which it may launch, both included: there the slots of the workspace that
    /// it touches are its activations' alone.
    std::int32_t from = 0, until = graph_index::forever;
    std::vector<covered_node> nodes;  ///< outputs one after the other, each in node order

    bool has(std::int32_t node) const {
        return std::any_of(nodes.begin(), nodes.end(),
                           [node](const covered_node& c) { return c.node == node; });
    }
};

/// A step that was accepted.
struct scheduled_step {
    std::int32_t launch_at = -1;
    std::int32_t also_reads = no_tensor;
    std::int32_t first_node = 0, node_count = 0;
    std::int32_t next = -1;  ///< the step accepted before it at the same position
};

class schedule {
  public:
    explicit schedule(const graph_index& g)
        : g_(g),
          action_(static_cast<std::size_t>(g.view.node_count), -1),
          runs_at_(action_.size()),
          first_at_(action_.size(), -1),
          marks_(g.acting()) {
        std::iota(runs_at_.begin(), runs_at_.end(), 0);
        accepted_.reserve(action_.size() / 8 + 8);
        nodes_.reserve(action_.size() / 2);
    }

    bool covered(std::int32_t node) const { return action_[at(node)] >= 0; }
    /// The step that covers each node, or -1.
    const std::int32_t* actions() const { return action_.data(); }

    /// The first node that forbids step `m`; -1: the step is legal. Nodes of the step before
    /// `first` are known to be legal.
    std::int32_t blocker(const trial_step& m, std::size_t first = 0) {
        look_at(m);
        const std::int32_t found = blocker_from(m, first);
        look_away(m);
        return found;
    }

    /// Finds a position for step `m` among its own nodes, the last first. Returns -1, or what
    /// forbids the last of them.
    std::int32_t find_position(trial_step& m) {
        std::int32_t blocked = -1, here = -1;
        look_at(m);
        for (auto n = m.nodes.rbegin(); n != m.nodes.rend(); ++n) {
            m.launch_at = n->node;
            here = blocker_from(m, 0);
            if (here < 0) break;
            if (blocked < 0) blocked = here;
            bound(m, here);
        }
        look_away(m);
        return here < 0 ? -1 : blocked;
    }

    /// Do nodes of step `m` meet each other, wherever it stands?
    bool meets_itself(const trial_step& m) {
        look_at(m);
        bool meets = false;
        for (std::size_t i = 0; i < m.nodes.size() && !meets; ++i) meets = met_within(m, i) >= 0;
        look_away(m);
        return meets;
    }

    /// Takes a legal step into the schedule; steps at one position run in the order of acceptance.
    std::int32_t accept(const trial_step& m) {
        const auto step = static_cast<std::int32_t>(accepted_.size());
        accepted_.push_back({m.launch_at, m.also_reads, static_cast<std::int32_t>(nodes_.size()),
                             static_cast<std::int32_t>(m.nodes.size()),
                             first_at_[at(m.launch_at)]});
        auto action = static_cast<std::int32_t>(nodes_.size());
        for (const covered_node& c : m.nodes) {
            action_[at(c.node)] = action++;
            runs_at_[at(c.node)] = m.launch_at;
        }
        nodes_.insert(nodes_.end(), m.nodes.begin(), m.nodes.end());
        first_at_[at(m.launch_at)] = step;
        marks_[at(m.launch_at)] |= launches;
        return step;
    }

    /// Takes back all steps but the first `count`, as if they had never been accepted.
    void retract(std::size_t count) {
        while (accepted_.size() > count) {
            const scheduled_step& s = accepted_.back();
            for (const covered_node& c : nodes(s)) {
                action_[at(c.node)] = -1;
                runs_at_[at(c.node)] = c.node;
            }
            nodes_.resize(at(s.first_node));
            first_at_[at(s.launch_at)] = s.next;
            if (s.next < 0) marks_[at(s.launch_at)] &= acts | tried;
            accepted_.pop_back();
        }
    }

    const std::vector<scheduled_step>& steps() const { return accepted_; }

    array_view<covered_node> nodes(const scheduled_step& s) const {
        const covered_node* first = nodes_.data() + s.first_node;
        return {first, first + s.node_count};
    }

    /// Nodes that steps cover.
    std::size_t covered_nodes() const { return nodes_.size(); }

  private:
    /// Marks of a position: its node acts, its node is of the step that is tried, steps launch
    /// there.
    enum mark : std::uint8_t { acts = 1, tried = 2, launches = 4 };

    /// The reads and the write of a node outside its step.
    struct footprint {
        covered_node of;
        std::int32_t written = no_tensor;
        std::int32_t reads = 0;
        read_edge read[max_src];
        bool nothing() const { return written == no_tensor && reads == 0; }
    };

    const graph_index& g_;
    std::vector<std::int32_t> action_;    // per position: index into nodes_; -1: the engine's
    std::vector<std::int32_t> runs_at_;   // the same: where it runs, as the engine's or in its step
    std::vector<std::int32_t> first_at_;  // per position: the step that was accepted there last
    std::vector<std::uint8_t> marks_;     // the same: marks
    std::vector<scheduled_step> accepted_;
    std::vector<covered_node> nodes_;  // of all accepted steps
    std::vector<footprint> touched_;   // scratch: of the nodes of a step that is looked at

    static std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }

    /// Sets `out` to the footprint of `c`.
    void touched_by(const covered_node& c, footprint& out) const {
        out.of = c;
        out.written = c.elided ? no_tensor : g_.view.nodes[c.node];
        out.reads = 0;
        for (const read_edge& r : g_.reads(c.node))
            if ((c.internal >> r.slot & 1u) == 0) out.read[out.reads++] = r;
    }

    bool placed(std::int32_t tensor) const {
        return g_.bytes(tensor).buffer != no_buffer || g_.view.at(tensor).data != nullptr;
    }

    /// Bounds the positions of step `m`, where node `v` forbids the present one. Nodes of the step
    /// that meet each other do so wherever it stands. A node of the step that may not pass `v`
    /// where it runs may not pass it from further away.
    void bound(trial_step& m, std::int32_t v) const {
        const int here = marks_[at(v)];
        if (m.launch_at < m.from || m.launch_at > m.until || g_.many_streams()) return;
        if ((here & tried) != 0) m.until = -1;
        if (here != acts) return;
        const std::int32_t runs_at = runs_at_[at(v)];
        if (runs_at <= m.launch_at)
            m.until = std::min(m.until, std::max(v, runs_at));
        else
            m.from = std::max(m.from, std::min(v, runs_at));
    }

    /// As blocker, of a step that is looked at.
    std::int32_t blocker_from(const trial_step& m, std::size_t first) const {
        if (m.launch_at < m.from || m.launch_at > m.until) return m.launch_at;
        for (std::size_t i = 0; i < m.nodes.size(); ++i) {
            const covered_node& c = m.nodes[i];
            if (covered(c.node)) return c.node;
            if (i < first) continue;
            if (c.node != m.launch_at && g_.acts(c.node)) {
                if (g_.many_streams())
                    if (const std::int32_t v = other_stream(m, touched_[i]); v >= 0) return v;
                if (const std::int32_t v = passed(m, touched_[i]); v >= 0) return v;
            }
            if (const std::int32_t v = met_within(m, i); v >= 0) return v;
        }
        return -1;
    }

    /// Marks the nodes of step `m`, and gathers what each of them touches.
    void look_at(const trial_step& m) {
        if (touched_.size() < m.nodes.size()) touched_.resize(m.nodes.size());
        for (std::size_t i = 0; i < m.nodes.size(); ++i) {
            marks_[at(m.nodes[i].node)] |= tried;
            touched_by(m.nodes[i], touched_[i]);
        }
    }
    void look_away(const trial_step& m) {
        for (const covered_node& c : m.nodes) marks_[at(c.node)] &= acts | launches;
    }

    /// The first node that forbids `node`, one of the nodes of step `m`, to happen at the step's
    /// position; -1 when nothing does. Looked at: every node that it passes, and every step
    /// launched on the way.
    std::int32_t passed(const trial_step& m, const footprint& touched) const {
        if (touched.nothing()) return -1;
        const std::int32_t node = touched.of.node;
        const std::int32_t low = std::min(m.launch_at, node);
        const std::int32_t high = std::max(m.launch_at, node);
        const std::uint8_t* const marks = marks_.data();
        const std::int32_t* const runs_at = runs_at_.data();
        for (std::int32_t v = low; v <= high; ++v) {
            const int here = marks[v];
            if ((here & (acts | tried)) == acts && changes_order(m, node, v, runs_at[v]) &&
                conflict_at(v, touched))
                return v;
            if ((here & launches) == 0) continue;
            for (std::int32_t s = first_at_[at(v)]; s >= 0; s = accepted_[at(s)].next)
                if (const std::int32_t n = meets_step(m, touched, accepted_[at(s)]); n >= 0)
                    return n;
        }
        return -1;
    }

    /// Does `node` pass the action that the engine ran at `v` and that runs at `runs_at` now? At
    /// one position the step that is being tried runs last.
    static bool changes_order(const trial_step& m, std::int32_t node, std::int32_t v,
                              std::int32_t runs_at) {
        return (v < node) != (runs_at <= m.launch_at);
    }

    std::int32_t meets_step(const trial_step& m, const footprint& touched,
                            const scheduled_step& other) const {
        const std::int32_t node = touched.of.node;
        for (const covered_node& c : nodes(other))
            if (changes_order(m, node, c.node, other.launch_at) && conflict(touched, c))
                return c.node;
        const bool reads = other.also_reads != no_tensor && touched.written != no_tensor &&
                           changes_order(m, node, other.launch_at, other.launch_at);
        return reads && may_meet(g_, touched.written, other.also_reads) ? other.launch_at : -1;
    }

    /// Streams are ordered by events that a node which moves leaves behind: it must not touch what
    /// any node of another stream touches.
    std::int32_t other_stream(const trial_step& m, const footprint& touched) const {
        const std::int32_t stream = g_.view.node(m.launch_at).stream;
        if (g_.view.node(touched.of.node).stream != stream) return m.launch_at;
        for (std::int32_t v = 0; !touched.nothing() && v < g_.view.node_count; ++v)
            if (g_.view.node(v).stream != stream && conflict_at(v, touched)) return v;
        return -1;
    }

    /// As conflict, with what the node at a position reads and writes in its step or in the engine.
    bool conflict_at(std::int32_t position, const footprint& a) const {
        if (covered(position)) return conflict(a, nodes_[at(action_[at(position)])]);
        covered_node by_engine;
        by_engine.node = position;
        return conflict(a, by_engine);
    }

    /// Does one of the two write what the other reads or writes? `a` is of the step that is tried.
    bool conflict(const footprint& a, const covered_node& b) const {
        if (!g_.acts(b.node)) return false;
        if (!b.elided) {
            const std::int32_t written = g_.view.nodes[b.node];
            const extent bytes = covered(b.node) ? g_.bytes(written) : g_.bytes_of_engine(written);
            const auto may_write = [&](std::int32_t tensor) {
                return detail::may_meet(g_, written, bytes, tensor, g_.bytes(tensor));
            };
            if (a.written != no_tensor && may_write(a.written)) return true;
            for (std::int32_t i = 0; i < a.reads; ++i)
                if (may_write(a.read[i].tensor)) return true;
        }
        if (a.written == no_tensor) return false;
        for (const read_edge& r : g_.reads(b.node))
            if ((b.internal >> r.slot & 1u) == 0 && may_meet(g_, a.written, r.tensor)) return true;
        return false;
    }

    /// The first of the nodes of step `m` up to number `last` that this one meets, or -1.
    std::int32_t met_within(const trial_step& m, std::size_t last) const {
        if (touched_[last].nothing()) return -1;
        for (std::size_t i = 0; i <= last; ++i)
            if (meet_within(m, touched_[last], touched_[i])) return touched_[i].of.node;
        return -1;
    }

    /// Nodes of one step happen at once. What one writes must not meet what another reads or
    /// writes, nor its own operands, except element upon element.
    bool meet_within(const trial_step& m, const footprint& a, const footprint& b) const {
        if (a.written == no_tensor && b.written == no_tensor) return false;
        if (overwrites(m, a, b)) return true;
        if (&a == &b) return false;
        return overwrites(m, b, a) || (a.written != no_tensor && b.written != no_tensor &&
                                       may_meet(g_, a.written, b.written));
    }
    bool overwrites(const trial_step& m, const footprint& writer, const footprint& reader) const {
        if (writer.written == no_tensor || reader.reads == 0) return false;
        const bool itself = &writer == &reader;
        if (itself && !placed(writer.written)) return false;  // the engine will see to its own op
        for (std::int32_t i = 0; i < reader.reads; ++i) {
            const read_edge& r = reader.read[i];
            if (!may_meet(g_, writer.written, r.tensor)) continue;
            const bool alone = (reader.of.by_element >> r.slot & 1u) != 0 &&
                               (m.row || itself || writer.written == reader.of.into) &&
                               same_place(g_.view.at(writer.written), g_.view.at(r.tensor));
            const bool part =
                (reader.of.by_part >> r.slot & 1u) != 0 && writer.written == reader.of.into &&
                whole_parts(g_.view.at(writer.written), g_.view.at(r.tensor), reader.of.part_bytes);
            if (!alone && !part && !m.at_once) return true;
        }
        return false;
    }
};

}  // namespace CATENA_NAMESPACE
