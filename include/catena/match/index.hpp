// What matching and planning ask of a graph again and again, computed once per plan in linear time:
// where a tensor is produced, whose memory it names, who reads that memory, and whether anybody
// outside may.
#pragma once

#include "catena/match/check.hpp"
#include "catena/match/graph.hpp"

#include <cstdint>
#include <limits>
#include <vector>

namespace catena {

/// One source edge of a node that launches something.
struct use {
    std::int32_t node = -1;  ///< position
    std::int32_t slot = 0;   ///< index into src
};

/// A tensor's root is the tensor whose memory it names: itself, or the end of its
/// chain of names.
class graph_index {
  public:
    graph_view view;

    /// Builds the index; on a malformed view returns why, and the index must not be used.
    status build(const graph_view& graph) {
        view = graph;
        if (status s = check(view, position_); !s.ok()) return s;
        if (status s = find_roots(); !s.ok()) return s;
        count_uses();
        find_outsiders();
        return {};
    }

    std::int32_t position(std::int32_t tensor) const { return position_[at(tensor)]; }
    std::int32_t root(std::int32_t tensor) const { return root_[at(tensor)]; }

    /// Readers of the memory of a root: every edge of a node that launches something and moves
    /// elements.
    const use* readers_begin(std::int32_t root) const {
        return uses_.data() + first_use_[at(root)];
    }
    const use* readers_end(std::int32_t root) const {
        return uses_.data() + first_use_[at(root) + 1];
    }
    int reader_count(std::int32_t root) const {
        return first_use_[at(root) + 1] - first_use_[at(root)];
    }

    /// May a node outside the view read this root's memory through any name? Counts that the engine
    /// does not know say yes, and so does a value that nobody reads at all: it must be somebody's
    /// result.
    bool read_outside(std::int32_t root) const { return (marks_[at(root)] & outside) != 0; }
    bool output(std::int32_t root) const { return (marks_[at(root)] & is_output) != 0; }
    /// Does a node of the view write into this root's memory by declaration (as CPY and SET_ROWS
    /// do)?
    bool written_in_place(std::int32_t root) const { return (marks_[at(root)] & in_place) != 0; }

    /// A leaf flagged as a weight that no node of the view writes: it may be read at any time.
    bool constant(std::int32_t tensor) const {
        const graph_view& v = view;
        return v.at(tensor).weight && v.at(tensor).kind == op::none && position(tensor) < 0 &&
               !written_in_place(root(tensor));
    }

    /// Where the value of a root begins and ends to matter: positions; -1: before the view, max:
    /// after it.
    std::int32_t live_from(std::int32_t root) const { return position_[at(root)]; }
    std::int32_t live_until(std::int32_t root) const { return last_use_[at(root)]; }

    static constexpr std::int32_t forever = std::numeric_limits<std::int32_t>::max();

  private:
    enum mark : std::uint8_t { outside = 1, is_output = 2, in_place = 4 };

    std::vector<std::int32_t> position_, root_, edges_, first_use_, last_use_;
    std::vector<use> uses_;
    std::vector<std::uint8_t> marks_;

    static std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }

    status find_roots() {
        root_.assign(at(view.tensor_count), no_tensor);
        for (std::int32_t t = 0; t < view.tensor_count; ++t) {
            std::int32_t root = t;
            for (std::int32_t steps = 0; named_by(view.at(root)) != no_tensor; ++steps) {
                root = named_by(view.at(root));
                if (root < t) {  // known already
                    root = root_[at(root)];
                    break;
                }
                if (steps > view.tensor_count)
                    return failure(
                        status_code::invalid_argument,
                        "tensor %d: its view_src leads back to itself; expected the tensor "
                        "whose memory it names",
                        t);
            }
            root_[at(t)] = root;
        }
        return {};
    }

    /// An edge that moves data: a node that launches nothing, or touches no elements, only renames.
    template <class F>
    void each_read(F&& f) const {
        for (std::int32_t i = 0; i < view.node_count; ++i) {
            const tensor& t = view.node(i);
            if (launches_nothing(t.kind) || elements(t) == 0) continue;
            for (std::int32_t s = 0; s < max_src; ++s)
                if (t.src[s] != no_tensor && elements(view.at(t.src[s])) != 0)
                    f(i, s, root_[at(t.src[s])]);
        }
    }

    void count_uses() {
        edges_.assign(at(view.tensor_count), 0);
        first_use_.assign(at(view.tensor_count) + 1, 0);
        last_use_.assign(at(view.tensor_count), -1);
        marks_.assign(at(view.tensor_count), 0);
        for (std::int32_t i = 0; i < view.node_count; ++i) {
            const tensor& t = view.node(i);
            for (const std::int32_t s : t.src)
                if (s != no_tensor) ++edges_[at(s)];
            if (t.view_src != no_tensor && !launches_nothing(t.kind) && elements(t) != 0) {
                const std::int32_t root = root_[at(view.nodes[i])];
                marks_[at(root)] |= in_place;
                last_use_[at(root)] = i;
            }
        }
        each_read([this](std::int32_t node, std::int32_t, std::int32_t root) {
            ++first_use_[at(root) + 1];
            if (node > last_use_[at(root)]) last_use_[at(root)] = node;
        });
        for (std::size_t r = 1; r < first_use_.size(); ++r) first_use_[r] += first_use_[r - 1];
        uses_.resize(at(first_use_.back()));
        std::vector<std::int32_t> next(first_use_.begin(), first_use_.end() - 1);
        each_read([this, &next](std::int32_t node, std::int32_t slot, std::int32_t root) {
            uses_[at(next[at(root)]++)] = {node, slot};
        });
    }

    void find_outsiders() {
        for (std::int32_t t = 0; t < view.tensor_count; ++t) {
            const tensor& name = view.at(t);
            if (elements(name) == 0) continue;
            const std::int32_t root = root_[at(t)];
            if (name.uses == unknown_uses || name.uses == 0 || name.uses > edges_[at(t)])
                marks_[at(root)] |= outside;
            if ((name.flags & flag_output) != 0) marks_[at(root)] |= is_output;
            if (view.at(root).weight || (marks_[at(root)] & (outside | is_output)) != 0)
                last_use_[at(root)] = forever;
        }
    }
};

}  // namespace catena
