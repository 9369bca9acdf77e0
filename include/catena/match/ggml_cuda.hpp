// What ggml-cuda runs in one launch: the routing of a token to its experts, a soft cap, a
// convolution with its activation, a norm with the MUL, ADD or ROPE behind it (ggml-cuda.cu,
// ggml_cuda_can_fuse). Each is known by who reads what, wherever it stands in the order.
#pragma once

#include "catena/match/detail/ggml_cuda_routing.hpp"
#include "catena/match/detail/ggml_cuda_waits.hpp"
#include "catena/match/detail/index.hpp"
#include "catena/match/detail/match.hpp"

#include <algorithm>

namespace CATENA_NAMESPACE {

/// Is node `position` the function by which experts are picked? Its values are sorted, as they are
/// or behind one ADD, and those of the picked are gathered.
inline bool begins_routing(const graph_index& g, std::int32_t position) {
    const std::int32_t value = g.view.nodes[position];
    if (g.root(value) != value || g.reader_count(value) != 2) return false;
    bool sorted = false, gathered = false;
    for (const use& u : g.readers(value)) {
        const op kind = g.kind(u.node);
        const use behind = kind == op::add ? g.only_reader(g.view.nodes[u.node]) : u;
        sorted = sorted || (behind.node >= 0 && g.kind(behind.node) == op::argsort);
        gathered = gathered || kind == op::get_rows;
    }
    return sorted && gathered;
}

/// Is node `position` the first SCALE of a soft cap: of SCALE, TANH, SCALE?
inline bool begins_soft_cap(const graph_index& g, std::int32_t position) {
    const use function = g.only_reader(g.view.nodes[position]);
    if (function.node < 0 || g.view.node(function.node).sub != sub_op::tanh) return false;
    const use next = g.only_reader(g.view.nodes[function.node]);
    return next.node >= 0 && g.kind(next.node) == op::scale;
}

/// Is node `position` a function of what a convolution makes, with or without a bias?
inline bool ends_convolution(const graph_index& g, std::int32_t position) {
    const auto alone = [&g](std::int32_t value, op kind) {
        return g.view.at(value).kind == kind && g.only_reader(value).node >= 0;
    };
    const std::int32_t of = g.view.node(position).src[0];
    if (of == no_tensor) return false;
    if (alone(of, op::ssm_conv)) return true;
    const tensor& sum = g.view.at(of);
    return alone(of, op::add) && std::any_of(sum.src, sum.src + 2, [&](std::int32_t s) {
               return s != no_tensor && alone(s, op::ssm_conv);
           });
}

/// Is node `n` in the launch of the norm that it stands behind?
inline bool fused_with_norm(const graph_view& view, const match& m, const taken_node& n) {
    const op kind = view.node(n.node).kind;
    const bool rms = m.stages.has(stage_kind::rms_norm);
    switch (n.stage) {
        case stage_kind::rms_norm:
            return kind == op::scale;
        case stage_kind::mul_weight:
            return rms && kind == op::mul;
        case stage_kind::add_bias:
            return rms;
        case stage_kind::join_residual:
            return rms && kind == op::add;
        case stage_kind::mul_next_weight:
            return true;
        default:
            return n.aside;
    }
}

/// Does ggml-cuda store heads in the launch that turns them?
inline bool stores_with_turn(const graph_view& view, const head_chain& h) {
    const pairing pairs = h.turn.numbers.pairs;
    const tensor& t = view.node(h.store);
    return (pairs == pairing::neighbors || pairs == pairing::halves) && h.scaled < 0 &&
           h.join < 0 && (t.type == format::f32 || t.type == format::f16) &&
           view.at(t.src[1]).type == format::i64;
}

/// ggml-cuda's launches for heads: one norms, turns and stores them. A norm of tokens has a launch
/// of its own. One that the heads do not have is in the launch of its ROPE already.
inline int ggml_cuda_head_launches(const graph_view& view, const head_chain& h) {
    const std::int32_t x = h.rope < 0 ? no_tensor : view.node(h.rope).src[0];
    const bool normed_apart = h.norm < 0 && x != no_tensor && view.at(x).kind == op::mul;
    int launches = h.rope >= 0 && !normed_apart ? 1 : 0;
    if (h.norm >= 0 && (h.rope < 0 || h.token_norm)) ++launches;
    if (h.scaled >= 0) ++launches;
    if (h.joins_front()) return launches;  // the value in front counts what they share
    if (h.join >= 0) ++launches;
    if (h.store >= 0 && (h.rope < 0 || !stores_with_turn(view, h))) ++launches;
    return launches;
}

/// The shortest times of a layer's attention on an H100
/// (bench/results/steps.sm_90.2026-11-26.json): with one token 4.5 us of Llama-3.1-8B, of which the
/// caches' megabyte is 0.3, and with four sequences 8.3 us of gpt-oss-20b, of which two megabytes
/// are 0.7. The longest are 14 and 15 us.
inline constexpr double ggml_cuda_attention_us = 4.2, ggml_cuda_attention_of_few_us = 7.6;

/// ggml-cuda; also the model of a view that names none.
inline constexpr engine_model ggml_cuda{
    "ggml-cuda",
    [](const graph_index& g, std::int32_t position) {
        switch (g.kind(position)) {
            case op::scale:
                return begins_soft_cap(g, position);
            case op::unary:
                return begins_routing(g, position) || ends_convolution(g, position);
            default:
                return false;
        }
    },
    [](const graph_view& view, const match& m) {
        const auto own = std::count_if(m.taken.begin(), m.taken.end(), [&](const taken_node& n) {
            return !fused_with_norm(view, m, n);
        });
        const int sums = m.experts.found() ? 2 : 0;
        const bool turned = m.stages.has(stage_kind::rms_norm) && m.readers.size() == 1 &&
                            view.node(m.readers[0].node).kind == op::rope;
        return static_cast<int>(own) + sums - (turned ? 1 : 0);
    },
    ggml_cuda_head_launches,
    ggml_cuda_routing_launches,
    [](const graph_view& view, std::int32_t position, std::string_view version) {
        return version == ggml_cuda_version && ggml_cuda_waits(view, position);
    },
    ggml_cuda_attention_us,
    ggml_cuda_attention_of_few_us};

/// An engine that launches each node by itself.
inline constexpr engine_model node_by_node{
    "node by node",
    [](const graph_index&, std::int32_t) { return false; },
    [](const graph_view&, const match& m) {
        return static_cast<int>(m.taken.size() + m.experts.nodes.size());
    },
    [](const graph_view&, const head_chain& h) {
        int nodes = 0;
        h.each_node([&nodes](std::int32_t) { ++nodes; });
        return nodes;
    },
    [](const graph_index&, const routing& r) { return static_cast<int>(r.nodes.size()); },
    [](const graph_view&, std::int32_t, std::string_view) { return false; }};

/// The model of a graph's engine: the one that the view names, or ggml-cuda's.
inline const engine_model& engine_of(const graph_view& view) {
    return view.engine != nullptr ? *view.engine : ggml_cuda;
}

/// Does the engine of the graph run the node in one launch with what stands around it?
inline bool engine_fuses(const graph_index& g, std::int32_t position) {
    return engine_of(g.view).fuses(g, position);
}

}  // namespace CATENA_NAMESPACE
