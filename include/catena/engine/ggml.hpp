// The graph view of a real ggml graph, by ggml's public interface (0.9.6 or later). What that
// interface does not tell is asked of the engine; what the engine does not tell either counts as
// unknown, which is safe: an unknown number of readers keeps every value. C++17, nothing is thrown.
#pragma once

#include "catena/engine/ggml/pointer_index.hpp"
#include "catena/engine/ggml/vocabulary.hpp"
#include "catena/error/message.hpp"
#include "catena/match/graph.hpp"
#include "catena/match/moe_ffn.hpp"

#include <ggml-backend.h>
#include <ggml.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <vector>

namespace CATENA_NAMESPACE::ggml {

/// What an engine knows beyond ggml's public interface. Every member may be left as it is.
struct knowledge {
    /// The nodes are the whole graph, not a slice of one: its edges are all readers that there are.
    /// A tensor that the engine reads itself must be flagged OUTPUT then.
    bool whole_graph = false;

    /// How many source edges read `t` in the whole graph, those outside the slice included;
    /// negative: not known. Goes before whole_graph. (In ggml-cuda: the graph's use counts.)
    int (*uses)(const ggml_tensor* t, void* user) = nullptr;

    /// Does nothing write this leaf while graphs that read it run? Null: a leaf is a weight when
    /// its buffer's usage is GGML_BACKEND_BUFFER_USAGE_WEIGHTS. A leaf that a node writes in place
    /// never is one.
    bool (*weight)(const ggml_tensor* leaf, void* user) = nullptr;

    /// Can a kernel follow `t->data`? Not so in split buffers or host memory, say. Null: always.
    /// No step touches what cannot be reached.
    bool (*reachable)(const ggml_tensor* t, void* user) = nullptr;

    /// The number of the stream that runs a node. Null: one runs them all. (In ggml-cuda: the
    /// concurrent branches of GGML_CUDA_GRAPH_OPT=1.) No step spans two.
    int (*stream)(const ggml_tensor* node, void* user) = nullptr;

    /// Memory for values inside MOE_FFN nodes, where the view has some: `bytes` of it at least,
    /// that kernels reach, aligned to 256 bytes. Nothing else writes there while the graph runs,
    /// and it lives as long as plans of the graph. Null: these nodes stay with the engine.
    void* (*scratch)(std::int64_t bytes, void* user) = nullptr;

    void* user = nullptr;  ///< handed to each of them
};

/// Turns ggml graphs into views, one at a time. Keep it: rebuilding allocates nothing once it has
/// seen a graph as large.
class view_builder {
  public:
    /// Reads a graph or, as ggml_graph_view makes them, a slice. The view lives until the next
    /// build; its names point into ggml's tensors.
    status build(ggml_cgraph* graph, const knowledge& engine = {}) noexcept {
        if (graph == nullptr)
            return failure(status_code::invalid_argument, "view_builder: the graph is null");
        return build_from([graph](int i) { return ggml_graph_node(graph, i); },
                          ggml_graph_n_nodes(graph), engine);
    }

    /// Reads nodes that the engine keeps itself, in execution order.
    status build(ggml_tensor* const* nodes, int count, const knowledge& engine = {}) noexcept {
        if (count < 0 || (nodes == nullptr && count > 0))
            return failure(status_code::invalid_argument, "view_builder: the nodes are null, or %d",
                           count);
        return build_from([nodes](int i) { return nodes[i]; }, count, engine);
    }

    /// The graph of the last build, until the next one.
    graph_view view() const {
        graph_view out{tensors_.data(), static_cast<std::int32_t>(tensors_.size()), nodes_.data(),
                       static_cast<std::int32_t>(nodes_.size())};
        out.scratch = scratch_;
        return out;
    }

    /// The ggml tensor behind a tensor of the view.
    const ggml_tensor* source(std::int32_t index) const { return sources_[at(index)]; }

  private:
    struct buffer {
        ggml_backend_buffer_t handle;
        const char* base;
    };

    pointer_index numbers_;
    std::vector<const ggml_tensor*> sources_;
    std::vector<std::uint8_t> computed_;  // per tensor: a node of this view
    std::vector<tensor> tensors_;
    std::vector<std::int32_t> nodes_;
    std::vector<buffer> buffers_;
    void* scratch_ = nullptr;

    static std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }

    template <class NodeAt>
    status build_from(NodeAt node_at, int count, const knowledge& engine) noexcept {
        numbers_.clear();
        sources_.clear();
        computed_.clear();
        nodes_.clear();
        buffers_.clear();
        for (int i = 0; i < count; ++i) {
            const ggml_tensor* node = node_at(i);
            if (node == nullptr)
                return failure(status_code::invalid_argument, "view_builder: node %d is null", i);
            for (const ggml_tensor* s : node->src) number(s);
            number(node->view_src);
            const std::int32_t n = number(node);
            computed_[at(n)] = true;
            nodes_.push_back(n);
        }
        // Names of memory lead on to what they name; any other tensor that is not a node is where
        // the view ends.
        for (std::size_t i = 0; i < sources_.size(); ++i) {
            const ggml_tensor* s = sources_[i];
            if (computed_[i]) continue;
            number(s->view_src);
            if (!renames(*s)) continue;
            for (const ggml_tensor* source : s->src) number(source);
        }
        tensors_.resize(sources_.size());
        for (std::size_t i = 0; i < sources_.size(); ++i) fill(i, engine);
        if (engine.uses == nullptr && engine.whole_graph) count_edges();
        spare_written_leaves();
        scratch_ = nullptr;
        if (const std::int64_t bytes = scratch_bytes(view());
            bytes > 0 && engine.scratch != nullptr)
            scratch_ = engine.scratch(bytes, engine.user);
        return {};
    }

    std::int32_t number(const ggml_tensor* t) {
        if (t == nullptr) return no_tensor;
        const std::int32_t n = numbers_.find_or_add(t, static_cast<std::int32_t>(sources_.size()));
        if (at(n) == sources_.size()) {
            sources_.push_back(t);
            computed_.push_back(false);
        }
        return n;
    }

    static bool renames(const ggml_tensor& s) {
        const op kind = vocabulary::of_ggml().kind(s.op);
        return kind != op::none && launches_nothing(kind);
    }

    void fill(std::size_t i, const knowledge& engine) {
        const vocabulary& words = vocabulary::of_ggml();
        const ggml_tensor& s = *sources_[i];
        tensor& t = tensors_[i];
        t = {};
        const ggml_op made_by = computed_[i] || renames(s) ? s.op : GGML_OP_NONE;
        t.kind = words.kind(made_by);
        t.op_name = ggml_op_name(made_by);
        t.name = s.name;
        if (made_by == GGML_OP_UNARY || made_by == GGML_OP_GLU) t.sub = words.sub(s);
        t.type = words.type(s.type);
        t.reachable = is_reachable(s, engine);
        if (engine.stream != nullptr && computed_[i]) t.stream = engine.stream(&s, engine.user);
        t.flags = static_cast<std::uint8_t>(s.flags);
        for (int d = 0; d < GGML_MAX_DIMS; ++d) {
            t.ne[d] = s.ne[d];
            t.nb[d] = static_cast<std::int64_t>(s.nb[d]);
        }
        if (made_by != GGML_OP_NONE) {
            for (int k = 0; k < GGML_MAX_SRC; ++k) t.src[k] = number(s.src[k]);
            std::copy(std::begin(s.op_params), std::end(s.op_params), t.params);
        }
        t.view_src = number(s.view_src);
        place(t, s);
        if (engine.uses != nullptr) t.uses = std::max(engine.uses(&s, engine.user), unknown_uses);
        t.weight = s.op == GGML_OP_NONE && is_weight(s, engine);
    }

    /// A view is where its source is, whatever the engine says of the view.
    static bool is_reachable(const ggml_tensor& s, const knowledge& engine) {
        return engine.reachable == nullptr ||
               (engine.reachable(&s, engine.user) &&
                (s.view_src == nullptr || engine.reachable(s.view_src, engine.user)));
    }

    void place(tensor& t, const ggml_tensor& s) {
        t.data = s.data;
        if (t.data == nullptr && s.view_src != nullptr && s.view_src->data != nullptr)
            t.data = static_cast<char*>(s.view_src->data) + s.view_offs;
        const ggml_backend_buffer_t handle = buffer_of(s);
        if (handle == nullptr || t.data == nullptr) return;
        auto found = std::find_if(buffers_.begin(), buffers_.end(),
                                  [handle](const buffer& b) { return b.handle == handle; });
        if (found == buffers_.end())
            found = buffers_.insert(
                found, {handle, static_cast<char*>(ggml_backend_buffer_get_base(handle))});
        t.buffer = static_cast<std::int32_t>(found - buffers_.begin());
        t.offset = static_cast<std::uint64_t>(static_cast<char*>(t.data) - found->base);
        if (s.view_src != nullptr) return;
        const auto all = static_cast<std::int64_t>(
            ggml_backend_buft_get_alloc_size(ggml_backend_buffer_get_type(handle), &s));
        if (all > extent_bytes(t)) t.allocated = all;
    }

    static ggml_backend_buffer_t buffer_of(const ggml_tensor& s) {
        return s.view_src != nullptr ? s.view_src->buffer : s.buffer;
    }

    static bool is_weight(const ggml_tensor& s, const knowledge& engine) {
        if (engine.weight != nullptr) return engine.weight(&s, engine.user);
        const ggml_backend_buffer_t handle = buffer_of(s);
        return handle != nullptr && (s.flags & GGML_TENSOR_FLAG_PARAM) == 0 &&
               ggml_backend_buffer_get_usage(handle) == GGML_BACKEND_BUFFER_USAGE_WEIGHTS;
    }

    void count_edges() {
        for (tensor& t : tensors_) t.uses = 0;
        for (const std::int32_t n : nodes_)
            for (const std::int32_t s : tensors_[at(n)].src)
                if (s != no_tensor) ++tensors_[at(s)].uses;
    }

    void spare_written_leaves() {
        for (const std::int32_t n : nodes_) {
            const tensor& t = tensors_[at(n)];
            if (!launches_nothing(t.kind) && t.view_src != no_tensor)
                tensors_[at(t.view_src)].weight = false;
        }
        for (tensor& t : tensors_)
            if (t.view_src != no_tensor && !tensors_[at(t.view_src)].weight) t.weight = false;
    }
};

static_assert(GGML_MAX_DIMS == 4 && GGML_MAX_SRC <= max_src,
              "catena::tensor must hold ggml's shapes and sources");
static_assert(GGML_MAX_OP_PARAMS <= sizeof(tensor::params),
              "catena::tensor must hold ggml's op_params");

}  // namespace CATENA_NAMESPACE::ggml
