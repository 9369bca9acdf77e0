// The routing that ggml-cuda runs in one launch (ggml-cuda.cu: ggml_cuda_topk_moe_fusion,
// ggml_cuda_check_fusion_memory_ranges; topk-moe.cu).
#pragma once

#include "catena/match/detail/index.hpp"
#include "catena/match/detail/match.hpp"

#include <cmath>
#include <cstdint>
#include <vector>

namespace CATENA_NAMESPACE {

namespace detail {

/// The ops that stand next to each other in the graph where ggml-cuda fuses a routing; none where
/// it has no kernel for it.
inline std::vector<op> ggml_cuda_fused_ops(const graph_index& g, const routing& r) {
    const routing_numbers& n = r.numbers;
    const std::int64_t e = r.experts;
    const bool has_kernel = ((e & (e - 1)) == 0 && e <= 512) || e == 288 || e == 576;
    if (!has_kernel || n.groups > 1 || n.choice != choosing::by_score ||
        !contiguous(g.view.at(r.x)))
        return {};
    if (n.score == scoring::none) {
        if (!n.soft_max_chosen || n.normalized || n.scale != 1 || r.bias != no_tensor) return {};
        return {op::argsort, op::view, op::get_rows, op::reshape, op::soft_max};
    }
    const bool bounded = std::isfinite(n.least);  // by a CLAMP
    if (n.soft_max_chosen || (n.normalized && !bounded)) return {};
    std::vector<op> all;
    all.reserve(12);
    all.push_back(n.score == scoring::soft_max ? op::soft_max : op::unary);
    if (n.score == scoring::sqrt_softplus) all.push_back(op::sqrt);
    all.push_back(op::reshape);
    if (r.bias != no_tensor) all.push_back(op::add);
    all.insert(all.end(), {op::argsort, op::view, op::get_rows});
    if (n.normalized) all.insert(all.end(), {op::reshape, op::sum_rows, op::clamp, op::div});
    if (n.normalized && n.scale != 1) all.push_back(op::reshape);
    if (n.scale != 1) all.push_back(op::scale);
    return all;
}

inline bool share_bytes(const graph_index& g, std::int32_t a, std::int32_t b) {
    const extent &p = g.bytes(a), &q = g.bytes(b);
    return p.buffer == q.buffer && p.begin < q.end && q.begin < p.end;
}

/// Is what the chosen scores are gathered from named next to the node that makes them, or right
/// before the ARGSORT?
inline bool ggml_cuda_names_scores(const graph_index& g, const routing& r, std::int32_t first) {
    const scoring score = r.numbers.score;
    const std::int32_t name = score == scoring::none            ? first - 1
                              : score == scoring::sqrt_softplus ? first + 2
                                                                : first + 1;
    return name >= 0 && g.view.node(r.sort + 2).src[0] == g.view.nodes[name];
}

/// Do the results of the fused nodes lie over nothing that these read from before them? A launch of
/// one block, of at most 8 tokens, may write over the logits.
inline bool ggml_cuda_results_apart(const graph_index& g, const routing& r, std::int32_t first) {
    constexpr std::int64_t tokens_of_block = 8;
    const std::int32_t logits = r.tokens <= tokens_of_block ? g.view.node(first).src[0] : no_tensor;
    for (std::int32_t i = first; i <= r.weigh; ++i) {
        const tensor& t = g.view.node(i);
        for (const std::int32_t s : array_view<std::int32_t>{t.src, t.src + source_slots(t)}) {
            if (s == no_tensor || g.view.at(s).kind == op::none || s == logits) continue;
            const bool made = g.position(s) >= first && g.position(s) < i;
            for (const std::int32_t result : {g.view.nodes[r.sort + 1], g.view.nodes[r.weigh]})
                if (!made && share_bytes(g, result, s)) return false;
        }
    }
    return true;
}

}  // namespace detail

/// One launch for all of it, or one for each of its nodes.
inline int ggml_cuda_routing_launches(const graph_index& g, const routing& r) {
    const std::vector<op> fused = detail::ggml_cuda_fused_ops(g, r);
    const auto count = static_cast<std::int32_t>(fused.size());
    const std::int32_t first = r.nodes.front();
    bool alone = count > 0 && r.weigh - first + 1 == count;
    for (std::int32_t i = 0; i < count && alone; ++i)
        alone = g.kind(first + i) == fused[static_cast<std::size_t>(i)];
    const bool fuses = alone && detail::ggml_cuda_names_scores(g, r, first) &&
                       detail::ggml_cuda_results_apart(g, r, first);
    return fuses ? 1 : static_cast<int>(r.nodes.size());
}

}  // namespace CATENA_NAMESPACE
