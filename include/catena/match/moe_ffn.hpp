// MOE_FFN of ggml: a router and its experts as one node. It is planned as the nodes that it stands
// for: written_out makes a view in which these take its place, so the matcher, the planner and the
// proof meet nothing new.
#pragma once

#include "catena/chain/routing.hpp"
#include "catena/match/detail/check.hpp"
#include "catena/match/graph.hpp"
#include "catena/match/op_name.hpp"
#include "catena/match/reason.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <vector>

namespace CATENA_NAMESPACE {

/// What a MOE_FFN reads, and its sizes. `up` holds the gates too if there is no `gate`: the first
/// half of its rows.
struct moe_ffn {
    std::int32_t x = no_tensor, router = no_tensor, up = no_tensor, gate = no_tensor,
                 down = no_tensor;
    std::int64_t width = 0, inner = 0;  ///< elements of a token, and of an expert's gated value
    std::int64_t experts = 0, chosen = 0, tokens = 0;
};

namespace detail {

inline bool has_sizes(const tensor& t, std::int64_t a, std::int64_t b, std::int64_t c = 1) {
    return t.ne[0] == a && t.ne[1] == b && t.ne[2] == c && t.ne[3] == 1;
}

/// The sources that a MOE_FFN has, and those that it may not have.
inline obstacle moe_ffn_sources(const tensor& t, std::int32_t position) {
    if ((t.flags & flag_compute) == 0) return {position, reason::not_computed};
    for (const int s : {0, 1, 2, 4})
        if (t.src[s] == no_tensor) return {position, reason::missing_source};
    if (has_more_sources(t, 5)) return {position, reason::extra_source};
    for (int p = 1; p < max_params; ++p)
        if (t.params[p] != 0) return {position, reason::parameter, p};
    return {};
}

}  // namespace detail

/// Reads the MOE_FFN at a position of a well-formed view. What is wrong with it, or reason::none.
inline obstacle read_moe_ffn(const graph_view& view, std::int32_t position, moe_ffn& m) {
    const tensor& t = view.node(position);
    if (const obstacle why = detail::moe_ffn_sources(t, position); why.found()) return why;
    m = {t.src[0], t.src[1], t.src[2], t.src[3], t.src[4]};
    const tensor &x = view.at(m.x), &router = view.at(m.router), &up = view.at(m.up),
                 &down = view.at(m.down), &gate = view.at(m.gate == no_tensor ? m.up : m.gate);
    const bool merged = m.gate == no_tensor;
    m.width = x.ne[0];
    m.tokens = x.ne[1];
    m.experts = router.ne[1];
    m.inner = merged ? up.ne[1] / 2 : up.ne[1];
    m.chosen = t.params[0];
    const bool floats =
        t.type == format::f32 && x.type == format::f32 && router.type == format::f32;
    if (!floats || gate.type != up.type) return {position, reason::moe_ffn_values};
    bool gaps = t.view_src != no_tensor;
    for (const tensor* const one : {&t, &x, &router, &up, &gate, &down})
        gaps = gaps || !contiguous(*one);
    if (gaps) return {position, reason::moe_ffn_gaps};
    const bool fits = detail::has_sizes(t, m.width, m.tokens) &&
                      detail::has_sizes(x, m.width, m.tokens) &&
                      detail::has_sizes(router, m.width, m.experts) &&
                      detail::has_sizes(up, m.width, merged ? 2 * m.inner : m.inner, m.experts) &&
                      same_shape(gate, up) && detail::has_sizes(down, m.inner, m.width, m.experts);
    if (!fits || elements(t) == 0 || elements(down) == 0) return {position, reason::moe_ffn_sizes};
    if (m.chosen < 2 || m.chosen > m.experts)
        return {position, reason::moe_ffn_chosen, m.chosen, m.experts};
    if (m.chosen > max_chosen) return {position, reason::too_large, m.chosen, max_chosen};
    const double of_token = std::max({static_cast<double>(m.width), static_cast<double>(m.experts),
                                      2 * static_cast<double>(m.inner)}) *
                            static_cast<double>(m.chosen);
    const auto most = static_cast<std::int64_t>(max_elements / of_token);
    return m.tokens > most ? obstacle{position, reason::too_large, m.tokens, most} : obstacle{};
}

/// A view in which the nodes that MOE_FFNs stand for take their place. The last of these nodes is
/// the MOE_FFN's own tensor; tensors for the others stand behind those of the engine. Values inside
/// lie in graph_view::scratch, where each MOE_FFN begins anew, unless two may run at once: in a
/// view of several streams.
class written_out {
  public:
    /// Writes out the MOE_FFNs of a well-formed view in which read_moe_ffn finds nothing wrong, and
    /// that `taken` marks, by position.
    void build(const graph_view& engine, const std::vector<std::uint8_t>& taken) {
        view_ = engine;
        tensors_.assign(engine.tensors, engine.tensors + engine.tensor_count);
        nodes_.clear();
        engine_node_.clear();
        used_ = scratch_bytes_ = 0;
        many_streams_ = false;
        for (std::int32_t i = 0; i < engine.node_count; ++i)
            many_streams_ = many_streams_ || engine.node(i).stream != engine.node(0).stream;
        scratch_buffer_ = no_buffer;
        for (const tensor& t : tensors_) scratch_buffer_ = std::max(scratch_buffer_, t.buffer);
        ++scratch_buffer_;
        for (position_ = 0; position_ < engine.node_count; ++position_) {
            moe_ffn m;
            if (taken[at(position_)] != 0 && !read_moe_ffn(engine, position_, m).found())
                write(m, engine.nodes[position_]);
            else
                append(engine.nodes[position_]);
        }
    }

    /// It lives until the next build, and no longer than the engine's view.
    graph_view view() const {
        graph_view out = view_;
        out.tensors = tensors_.data();
        out.tensor_count = static_cast<std::int32_t>(tensors_.size());
        out.nodes = nodes_.data();
        out.node_count = static_cast<std::int32_t>(nodes_.size());
        return out;
    }

    /// The position of the engine's node that the node at `position` is, or is inside of.
    std::int32_t engine_node(std::int32_t position) const { return engine_node_[at(position)]; }

    /// The tensor of the engine that a tensor is, or whose node it is inside of.
    std::int32_t engine_tensor(std::int32_t index) const {
        return index < view_.tensor_count ? index : made_for_[at(index - view_.tensor_count)];
    }

    /// Bytes of graph_view::scratch that it uses.
    std::int64_t scratch_bytes() const { return scratch_bytes_; }

  private:
    struct sizes {
        std::int64_t ne[4];
    };

    graph_view view_;
    std::vector<tensor> tensors_;
    std::vector<std::int32_t> nodes_, engine_node_;
    std::vector<std::int32_t> made_for_;  // per tensor that the engine does not have: the MOE_FFN's
    std::int32_t scratch_buffer_ = no_buffer, position_ = 0, result_ = no_tensor;
    std::int64_t used_ = 0, scratch_bytes_ = 0;
    bool many_streams_ = false;

    static std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }
    static std::int32_t bits_of(float f) {
        std::int32_t word = 0;
        std::memcpy(&word, &f, sizeof word);
        return word;
    }

    void append(std::int32_t t) {
        nodes_.push_back(t);
        engine_node_.push_back(position_);
    }

    void count_use(std::int32_t t, std::int32_t edges) {
        std::int32_t& uses = tensors_[at(t)].uses;
        if (uses != unknown_uses) uses += edges;
    }

    /// A node that reads `sources`; it has no place yet.
    std::int32_t node(op kind, format type, const sizes& shape,
                      std::initializer_list<std::int32_t> sources) {
        const tensor& whole = tensors_[at(result_)];
        tensor t;
        t.kind = kind;
        t.op_name = spelling(kind);
        t.name = whole.name;
        t.type = type;
        t.flags = flag_compute;
        t.inside = true;
        t.stream = whole.stream;
        t.uses = 0;
        std::copy(shape.ne, shape.ne + 4, t.ne);
        t.nb[0] = info(type).block_bytes;
        for (int d = 1; d < 4; ++d) t.nb[d] = t.nb[d - 1] * t.ne[d - 1];
        std::copy(sources.begin(), sources.end(), t.src);
        for (const std::int32_t s : sources) count_use(s, 1);
        tensors_.push_back(t);
        made_for_.push_back(result_);
        const auto index = static_cast<std::int32_t>(tensors_.size()) - 1;
        append(index);
        return index;
    }

    /// A value with a place of its own in the scratch.
    std::int32_t value(op kind, const sizes& shape, std::initializer_list<std::int32_t> sources,
                       format type = format::f32) {
        const std::int32_t index = node(kind, type, shape, sources);
        tensor& t = tensors_[at(index)];
        const tensor& whole = tensors_[at(result_)];
        if (whole.buffer == no_buffer && whole.data == nullptr) return index;  // not allocated yet
        t.buffer = scratch_buffer_;
        t.offset = static_cast<std::uint64_t>(used_);
        if (view_.scratch != nullptr) t.data = static_cast<char*>(view_.scratch) + used_;
        constexpr std::int64_t apart = 256;
        used_ += (extent_bytes(t) + apart - 1) / apart * apart;
        return index;
    }

    /// A value where another one lies that it replaces.
    std::int32_t value_over(std::int32_t place, op kind, const sizes& shape,
                            std::initializer_list<std::int32_t> sources) {
        const std::int32_t index = node(kind, format::f32, shape, sources);
        set_place(index, place, 0);
        return index;
    }

    /// A RESHAPE or a VIEW, from some byte of its source on.
    std::int32_t name(op kind, const sizes& shape, std::int32_t source, std::int64_t offset = 0) {
        const format type = tensors_[at(source)].type;
        const std::int32_t index = node(kind, type, shape, {source});
        set_place(index, source, offset);
        tensor& t = tensors_[at(index)];
        const tensor& of = tensors_[at(source)];
        t.view_src = of.view_src == no_tensor ? source : of.view_src;
        t.reachable = of.reachable;
        std::memcpy(t.params, &offset, kind == op::view ? sizeof offset : 0);
        return index;
    }

    void set_place(std::int32_t index, std::int32_t as, std::int64_t offset) {
        tensor& t = tensors_[at(index)];
        const tensor& o = tensors_[at(as)];
        t.buffer = o.buffer;
        t.offset = o.offset + static_cast<std::uint64_t>(offset);
        if (o.data != nullptr) t.data = static_cast<char*>(o.data) + offset;
    }

    void set_params(std::int32_t index, std::initializer_list<std::int32_t> words) {
        std::copy(words.begin(), words.end(), tensors_[at(index)].params);
    }

    /// As llm_graph_context::build_moe_ffn of llama.cpp builds Qwen3-MoE.
    void write(const moe_ffn& m, std::int32_t result) {
        result_ = result;
        if (!many_streams_) used_ = 0;
        for (const std::int32_t s : tensors_[at(result)].src)
            if (s != no_tensor) count_use(s, -1);
        std::int32_t ids = no_tensor;
        const std::int32_t weights = route(m, ids);
        const std::int32_t x = name(op::reshape, {{m.width, 1, m.tokens, 1}}, m.x);
        const std::int32_t gated = gate(m, x, ids);
        const sizes slots{{m.width, m.chosen, m.tokens, 1}};
        const std::int32_t each = value(op::mul_mat_id, slots, {m.down, gated, ids});
        add_up(m, value_over(each, op::mul, slots, {each, weights}));
        scratch_bytes_ = std::max(scratch_bytes_, used_);
    }

    /// The weights of the chosen experts, and their ids.
    std::int32_t route(const moe_ffn& m, std::int32_t& ids) {
        const sizes all{{m.experts, m.tokens, 1, 1}}, some{{m.chosen, m.tokens, 1, 1}},
            single{{1, m.chosen, m.tokens, 1}}, sums{{1, m.tokens, 1, 1}};
        const std::int32_t logits = value(op::mul_mat, all, {m.router, m.x});
        const std::int32_t scores = value(op::soft_max, all, {logits});
        set_params(scores, {bits_of(1)});
        const std::int32_t rows = name(op::reshape, {{1, m.experts, m.tokens, 1}}, scores);
        const std::int32_t sorted = value(op::argsort, all, {scores}, format::i32);
        set_params(sorted, {1});  // the largest first
        ids = name(op::view, some, sorted);
        for (int d = 1; d < 4; ++d) tensors_[at(ids)].nb[d] = tensors_[at(sorted)].nb[d];
        const std::int32_t picked = value(op::get_rows, single, {rows, ids});
        const std::int32_t row = name(op::reshape, some, picked);
        const std::int32_t sum = value(op::sum_rows, sums, {row});
        const std::int32_t least = value(op::clamp, sums, {sum});
        set_params(least,
                   {bits_of(6.103515625e-5f), bits_of(std::numeric_limits<float>::infinity())});
        return name(op::reshape, single, value(op::div, some, {row, least}));
    }

    std::int32_t gate(const moe_ffn& m, std::int32_t x, std::int32_t ids) {
        const sizes inner{{m.inner, m.chosen, m.tokens, 1}},
            both{{2 * m.inner, m.chosen, m.tokens, 1}};
        std::int32_t gated = no_tensor;
        if (m.gate == no_tensor) {
            gated = value(op::glu, inner, {value(op::mul_mat_id, both, {m.up, x, ids})});
        } else {
            const std::int32_t gates = value(op::mul_mat_id, inner, {m.gate, x, ids});
            const std::int32_t ups = value(op::mul_mat_id, inner, {m.up, x, ids});
            gated = value(op::glu, inner, {gates, ups});
        }
        tensors_[at(gated)].sub = sub_op::swiglu;
        constexpr std::int32_t ggml_swiglu = 2;
        set_params(gated, {ggml_swiglu});
        return gated;
    }

    /// The results of the slots, one after the other; the last ADD is the MOE_FFN's tensor.
    void add_up(const moe_ffn& m, std::int32_t weighted) {
        const sizes one{{m.width, m.tokens, 1, 1}};
        std::vector<std::int32_t> slots;
        for (std::int64_t s = 0; s < m.chosen; ++s) {
            const tensor& all = tensors_[at(weighted)];
            const std::int64_t token = all.nb[2], offset = s * all.nb[1];
            const std::int32_t slot = name(op::view, one, weighted, offset);
            tensor& t = tensors_[at(slot)];
            t.nb[1] = token;
            t.nb[2] = t.nb[3] = token * m.tokens;
            slots.push_back(slot);
        }
        std::int32_t sum = slots[0];
        for (std::size_t s = 1; s + 1 < slots.size(); ++s)
            sum = value_over(result_, op::add, one, {sum, slots[s]});
        tensor& t = tensors_[at(result_)];
        t.kind = op::add;
        t.op_name = spelling(op::add);
        t.inside = true;
        std::fill(t.src, t.src + max_src, no_tensor);
        std::fill(t.params, t.params + max_params, 0);
        t.src[0] = sum;
        t.src[1] = slots.back();
        count_use(sum, 1);
        count_use(slots.back(), 1);
        append(result_);
    }
};

/// Which nodes are MOE_FFNs, by position; empty if none is.
inline std::vector<std::uint8_t> moe_ffns(const graph_view& view) {
    std::vector<std::uint8_t> out;
    for (std::int32_t i = 0; i < view.node_count; ++i) {
        if (view.node(i).kind != op::moe_ffn) continue;
        out.resize(static_cast<std::size_t>(view.node_count), 0);
        out[static_cast<std::size_t>(i)] = 1;
    }
    return out;
}

/// Bytes that graph_view::scratch has to have, aligned to 256 bytes, so that plans can take over
/// the MOE_FFNs of a well-formed view. 0: it has none.
inline std::int64_t scratch_bytes(const graph_view& view) {
    const std::vector<std::uint8_t> all = moe_ffns(view);
    if (all.empty()) return 0;
    written_out nodes;
    nodes.build(view, all);
    return nodes.scratch_bytes();
}

}  // namespace CATENA_NAMESPACE
