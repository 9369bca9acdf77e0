// What matching and planning ask of a graph again and again, computed once per plan in linear time:
// where a tensor is produced, whose memory it names, who reads that memory, which bytes it holds,
// and whether anybody outside may look at it.
#pragma once

#include "catena/format/float_weights.hpp"
#include "catena/match/detail/check.hpp"
#include "catena/match/graph.hpp"
#include "catena/match/own_ops.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

namespace CATENA_NAMESPACE {

/// Do two tensors begin at the same byte, as far as the engine says where they are? A name without
/// a place is where its op says.
inline bool may_begin_together(const tensor& a, const tensor& b) {
    if (a.buffer != no_buffer && b.buffer != no_buffer)
        return a.buffer == b.buffer && a.offset == b.offset;
    return a.data == nullptr || b.data == nullptr || a.data == b.data;
}

/// True when `name` holds exactly the elements of `value`, row-major and without gaps: the value
/// itself, or what RESHAPE and whole contiguous VIEWs make of it.
inline bool names_whole(const graph_view& view, std::int32_t name, std::int32_t value) {
    const std::int64_t count = elements(view.at(value));
    for (std::int32_t hops = 0; name != value; ++hops) {
        const tensor& t = view.at(name);
        const bool renames = t.kind == op::reshape || t.kind == op::view;
        if (!renames || t.src[0] == no_tensor || hops > view.tensor_count) return false;
        const tensor& source = view.at(t.src[0]);
        if (elements(t) != count || t.type != source.type || !contiguous(t) || !contiguous(source))
            return false;
        if (t.kind == op::view && (t.params[0] != 0 || t.params[1] != 0)) return false;
        if (!may_begin_together(t, source)) return false;
        name = t.src[0];
    }
    return true;
}

/// The value behind `name`: RESHAPEs and whole contiguous VIEWs removed.
inline std::int32_t value_behind(const graph_view& view, std::int32_t name) {
    for (std::int32_t hops = 0; hops <= view.tensor_count; ++hops) {
        const tensor& t = view.at(name);
        const bool renames = t.kind == op::reshape || t.kind == op::view;
        if (!renames || t.src[0] == no_tensor || !names_whole(view, name, t.src[0])) break;
        name = t.src[0];
    }
    return name;
}

/// One source edge of a node that launches something.
struct use {
    std::int32_t node = -1;  ///< position
    std::int32_t slot = 0;   ///< index into src
};

/// A read by a node of a tensor that may change while the graph runs.
struct read_edge {
    std::int32_t tensor = no_tensor;
    std::int32_t slot = 0;
};

/// A MUL_MAT or MUL_MAT_ID with a quantized weight, or with float weights that read f32,
/// and the value whose elements it multiplies.
struct matmul_read {
    std::int32_t node = -1;  ///< position
    std::int32_t value = no_tensor;
    std::int64_t k = 0;  ///< elements of a row of value, as the matmul reads it
    std::int32_t stream = 0;
    format weight = format::unknown;
    bool float_weight = false;
    bool quantized = false;  ///< quantized_matmul
};

/// A tensor's root is the tensor whose memory it names: itself, or the end of its
/// chain of names.
class graph_index {
  public:
    graph_view view;
    const own_ops* ops = nullptr;  ///< the engine's own ops; null: none

    /// Builds the index; on a malformed view returns why, and the index must not be used.
    status build(const graph_view& graph) {
        view = graph;
        if (status s = check_tensors(view, places_); !s.ok()) return s;
        if (status s = find_roots(); !s.ok()) return s;
        return order(view.nodes);
    }

    /// Puts the nodes in another order, which must outlive the index as the view does; on a wrong
    /// one returns why, and the index must not be used.
    status order(const std::int32_t* nodes) {
        view.nodes = nodes;
        if (status s = check_nodes(view, position_); !s.ok()) return s;
        read_nodes();
        count_uses();
        find_outsiders();
        find_reads();
        find_matmuls();
        return {};
    }

    std::int32_t position(std::int32_t tensor) const { return position_[at(tensor)]; }
    std::int32_t root(std::int32_t tensor) const { return root_[at(tensor)]; }
    const extent& bytes(std::int32_t tensor) const { return places_.extents[at(tensor)]; }

    /// The bytes that the engine's own node may write while it makes this tensor: kernels of an
    /// engine use what the backend allocated behind a result as scratch. A step writes bytes()
    /// only.
    extent bytes_of_engine(std::int32_t tensor) const {
        extent out = bytes(tensor);
        const auto all = static_cast<std::uint64_t>(view.at(tensor).allocated);
        if (all > out.end - out.begin) out.end = out.begin + all;
        return out;
    }

    op kind(std::int32_t position) const { return kinds_[at(position)]; }
    /// Is any node of this kind?
    bool has(op kind) const {
        return std::find(kinds_.begin(), kinds_.end(), kind) != kinds_.end();
    }

    /// Does the node at this position launch something that touches elements?
    bool acts(std::int32_t position) const { return acts_[at(position)] != 0; }
    /// acts() of all nodes, as 1 or 0.
    const std::vector<std::uint8_t>& acting() const { return acts_; }

    /// Nodes that launch something when the engine computes the graph.
    std::int32_t launches() const { return launches_; }

    /// All such matmuls, in node order.
    const std::vector<matmul_read>& matmuls() const { return matmuls_; }

    /// What the node at a position reads, without weights.
    array_view<read_edge> reads(std::int32_t position) const {
        const read_edge* first = reads_.data() + first_read_[at(position)];
        return {first, reads_.data() + first_read_[at(position) + 1]};
    }

    /// Readers of the memory of a root: every edge of a node that launches something and moves
    /// elements.
    array_view<use> readers(std::int32_t root) const {
        const use* first = uses_.data() + first_use_[at(root)];
        return {first, uses_.data() + first_use_[at(root) + 1]};
    }
    int reader_count(std::int32_t root) const {
        return first_use_[at(root) + 1] - first_use_[at(root)];
    }
    bool read_by(std::int32_t root, op kind) const {
        const array_view<use> all = readers(root);
        return std::any_of(all.begin(), all.end(),
                           [&](const use& u) { return this->kind(u.node) == kind; });
    }

    /// May a node outside the view read this root's memory through any name? Counts that the engine
    /// does not know say yes, and so does a value that nobody reads at all: it must be somebody's
    /// result.
    bool read_outside(std::int32_t root) const { return (marks_[at(root)] & outside) != 0; }
    bool output(std::int32_t root) const { return (marks_[at(root)] & is_output) != 0; }
    /// Does a node of the view write into this root's memory by declaration (as CPY and SET_ROWS
    /// do)?
    bool written_in_place(std::int32_t root) const { return (marks_[at(root)] & in_place) != 0; }

    /// A weight whose leaf no node of the view writes: it may be read at any time.
    bool constant(std::int32_t tensor) const {
        const std::int32_t leaf = root(tensor);
        return is_weight(view, tensor) && position(leaf) < 0 && !written_in_place(leaf);
    }

    /// The one edge that reads a value, or node -1: nobody or several do, or somebody outside may.
    use only_reader(std::int32_t tensor) const {
        const bool seen =
            root(tensor) != tensor || reader_count(tensor) != 1 || marks_[at(tensor)] != 0;
        return seen ? use{} : readers(tensor)[0];
    }

    /// The one node that reads a value, by one edge or by several, as a GLU reads two views of it.
    /// -1: nobody or several nodes do, or somebody outside may.
    std::int32_t only_node(std::int32_t tensor) const {
        if (root(tensor) != tensor || marks_[at(tensor)] != 0) return -1;
        const array_view<use> all = readers(tensor);
        const bool one = all.size() > 0 && std::all_of(all.begin(), all.end(), [&](const use& u) {
                             return u.node == all[0].node;
                         });
        return one ? all[0].node : -1;
    }

    /// The positions between which a root's value is alive at least. -1: from before the view;
    /// max: until after it. Readers that may not exist keep nothing alive.
    std::int32_t live_from(std::int32_t root) const { return position_[at(root)]; }
    std::int32_t live_until(std::int32_t root) const { return last_use_[at(root)]; }

    /// Nodes run on more than one of the engine's streams.
    bool many_streams() const { return many_streams_; }

    static constexpr std::int32_t forever = std::numeric_limits<std::int32_t>::max();

  private:
    enum mark : std::uint8_t { outside = 1, is_output = 2, in_place = 4 };

    /// An edge that moves data: a node that launches nothing, or touches no elements, only renames.
    struct edge {
        std::int32_t tensor, node, slot;
    };

    std::vector<std::int32_t> position_, root_, first_use_, last_use_, first_read_;
    std::vector<std::int32_t> named_;  // per tensor: how often the view's nodes name it
    std::vector<edge> edges_;          // in node order
    std::vector<use> uses_;
    std::vector<read_edge> reads_;
    tensor_places places_;
    std::vector<std::uint8_t> marks_, acts_;
    std::vector<op> kinds_;
    std::vector<matmul_read> matmuls_;
    std::int32_t launches_ = 0;
    bool many_streams_ = false;

    static std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }

    status find_roots() {
        const std::vector<std::int32_t>& names = places_.names;
        root_.resize(names.size());
        for (std::int32_t t = 0; t < view.tensor_count; ++t) {
            std::int32_t root = t;
            for (std::int32_t steps = 0; names[at(root)] != no_tensor; ++steps) {
                root = names[at(root)];
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

    bool has_bytes(std::int32_t tensor) const {
        return places_.extents[at(tensor)].begin != places_.extents[at(tensor)].end;
    }

    void read_nodes() {
        const std::size_t nodes = at(view.node_count), tensors = at(view.tensor_count);
        acts_.resize(nodes);
        kinds_.resize(nodes);
        named_.assign(tensors, 0);
        last_use_.assign(tensors, -1);
        marks_.assign(tensors, 0);
        edges_.clear();
        edges_.reserve(2 * nodes);
        many_streams_ = false;
        launches_ = 0;
        for (std::int32_t i = 0; i < view.node_count; ++i) {
            const tensor& t = view.node(i);
            kinds_[at(i)] = t.kind;
            acts_[at(i)] = !launches_nothing(t.kind) && elements(t) != 0;
            launches_ += acts(i) && (t.flags & flag_compute) != 0 ? 1 : 0;
            many_streams_ = many_streams_ || t.stream != view.node(0).stream;
            read_edges(t, i);
            if (t.view_src != no_tensor && acts(i)) {
                const std::int32_t root = root_[at(view.nodes[i])];
                marks_[at(root)] |= in_place;
                last_use_[at(root)] = i;
            }
        }
    }

    void read_edges(const tensor& t, std::int32_t node) {
        for (std::int32_t s = 0, slots = source_slots(t); s < slots; ++s) {
            if (t.src[s] == no_tensor) continue;
            ++named_[at(t.src[s])];
            if (acts(node)) edges_.push_back({t.src[s], node, s});
        }
    }

    void count_uses() {
        first_use_.assign(at(view.tensor_count) + 1, 0);
        for (const edge& e : edges_) {
            if (!has_bytes(e.tensor)) continue;
            const std::int32_t root = root_[at(e.tensor)];
            ++first_use_[at(root) + 1];
            if (e.node > last_use_[at(root)]) last_use_[at(root)] = e.node;
        }
        for (std::size_t r = 1; r < first_use_.size(); ++r) first_use_[r] += first_use_[r - 1];
        uses_.resize(at(first_use_.back()));
        std::vector<std::int32_t> next(first_use_.begin(), first_use_.end() - 1);
        for (const edge& e : edges_)
            if (has_bytes(e.tensor)) uses_[at(next[at(root_[at(e.tensor)])]++)] = {e.node, e.slot};
    }

    void find_outsiders() {
        for (std::int32_t t = 0; t < view.tensor_count; ++t) {
            const tensor& name = view.at(t);
            if (!has_bytes(t)) continue;
            const std::int32_t root = root_[at(t)];
            const bool unknown = name.uses == unknown_uses;
            const bool kept = !unknown && (name.uses == 0 || name.uses > named_[at(t)]);
            if (unknown || kept) marks_[at(root)] |= outside;
            if ((name.flags & flag_output) != 0) marks_[at(root)] |= is_output;
            const bool later = kept && position_[at(root)] >= 0;  // of a leaf others may have read
            if (view.at(root).weight || later || (marks_[at(root)] & is_output) != 0)
                last_use_[at(root)] = forever;
        }
    }

    void find_reads() {
        first_read_.assign(at(view.node_count) + 1, 0);
        reads_.clear();
        reads_.reserve(edges_.size());
        for (const edge& e : edges_) {
            if (constant(e.tensor)) continue;
            reads_.push_back({e.tensor, e.slot});
            first_read_[at(e.node) + 1] = static_cast<std::int32_t>(reads_.size());
        }
        for (std::size_t i = 1; i < first_read_.size(); ++i)
            first_read_[i] = std::max(first_read_[i], first_read_[i - 1]);
    }

    void find_matmuls() {
        matmuls_.clear();
        for (std::int32_t i = 0; i < view.node_count; ++i) {
            if (!is_matmul(kind(i)) || !acts(i)) continue;
            const tensor& t = view.node(i);
            if (t.src[0] == no_tensor || t.src[1] == no_tensor) continue;
            const format type = view.at(t.src[0]).type;
            const bool float_weight = reads_f32(type) && constant(t.src[0]);
            if (float_weight || info(type).role == format_role::weight)
                matmuls_.push_back({i, value_behind(view, t.src[1]), view.at(t.src[1]).ne[0],
                                    t.stream, type, float_weight, quantized_matmul(view, t)});
        }
    }
};

}  // namespace CATENA_NAMESPACE
