#include "traffic.hpp"

#include "peer.hpp"

#include "catena/kernel/layout.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace catena::tool {
namespace {

/// Bytes of `n` elements in the tensor's format.
std::int64_t bytes_of_elements(const tensor& like, std::int64_t n) {
    const format_info& f = info(like.type);
    return f.block_elements == 0 ? 0 : n / f.block_elements * f.block_bytes;
}

std::int64_t activation_bytes(const tensor& x) {
    return x.ne[0] == 0 ? 0 : elements(x) / x.ne[0] * q8_1_row_bytes(x.ne[0]);
}

std::int64_t matrix_bytes(const graph_view& g, const tensor& matmul) {
    const tensor& w = g.at(matmul.src[0]);
    if (matmul.kind != op::mul_mat_id || w.ne[2] == 0) return extent_bytes(w);
    return extent_bytes(w) / w.ne[2] * std::min(w.ne[2], matmul.ne[1] * matmul.ne[2]);
}

/// What a MOE_FFN reads of the matrices of its experts: of those that its tokens can pick.
std::int64_t expert_bytes(const tensor& matrices, const tensor& moe_ffn) {
    const std::int64_t all = matrices.ne[2];
    if (all == 0) return 0;
    const std::int64_t of_token = std::clamp(std::int64_t{moe_ffn.params[0]}, std::int64_t{0}, all);
    return extent_bytes(matrices) / all * std::min(all, of_token * std::min(moe_ffn.ne[1], all));
}

void add_node(traffic& to, const graph_view& g, const tensor& t) {
    if (!launches(t)) return;
    ++to.launches;
    to.bytes += node_bytes(g, t);
    if (!reads_quantized(g, t)) return;
    ++to.launches;
    to.bytes += quantize_bytes(g, t);
}

}  // namespace

std::int64_t node_bytes(const graph_view& g, const tensor& t) {
    if (!launches(t)) return 0;
    const bool matmul = t.kind == op::mul_mat || t.kind == op::mul_mat_id;
    // SET_ROWS and CPY name the whole destination, and write what they read.
    const bool writes_source = t.kind == op::set_rows && t.src[0] != no_tensor;
    std::int64_t bytes =
        writes_source ? bytes_of_elements(t, elements(g.at(t.src[0]))) : extent_bytes(t);
    for (int s = 0; s < max_src; ++s) {
        if (t.src[s] == no_tensor) continue;
        const tensor& source = g.at(t.src[s]);
        if (source.view_src != no_tensor && source.view_src == t.view_src)
            continue;  // its destination
        if (matmul && s == 0)
            bytes += matrix_bytes(g, t);
        else if (t.kind == op::moe_ffn && s >= 2)
            bytes += expert_bytes(source, t);
        else if (matmul && s == 1 && reads_quantized(g, t))
            bytes += activation_bytes(source);
        else if (t.kind == op::get_rows && s == 0)
            bytes += bytes_of_elements(source, elements(t));
        else if (!(t.kind == op::set_rows && s > 1))
            bytes += extent_bytes(source);
    }
    return bytes;
}

std::int64_t quantize_bytes(const graph_view& g, const tensor& matmul) {
    const tensor& x = g.at(matmul.src[1]);
    return extent_bytes(x) + activation_bytes(x);
}

traffic one_by_one(const graph_view& g) {
    traffic all;
    for (int i = 0; i < g.size(); ++i) add_node(all, g, g.node(i));
    return all;
}

traffic planned(const graph_view& g, const explanation& plan) {
    traffic all{static_cast<int>(plan.steps.size()), plan.bytes};
    std::vector<bool> covered(static_cast<std::size_t>(g.size()), false);
    for (const explained_step& s : plan.steps)
        for (const std::int32_t n : s.nodes) covered[static_cast<std::size_t>(n)] = true;
    for (int i = 0; i < g.size(); ++i)
        if (!covered[static_cast<std::size_t>(i)]) add_node(all, g, g.node(i));
    return all;
}

}  // namespace catena::tool
