// From a match to what is asked of the table (problems) and what is handed to the kernels
// (arguments).
#pragma once

#include "catena/match/match.hpp"
#include "catena/pick/problem.hpp"
#include "catena/plan/memory.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace catena {

/// What the row step of a match must compute.
inline problem row_problem(const graph_view& view, const pattern& chain, const match& m) {
    const tensor& x = view.at(m.x);
    problem p;
    p.needs.kind = skeleton::row;
    p.needs.value = chain.norm ? value_kind::rms_norm : value_kind::plain;
    p.needs.residual = m.residual != no_tensor;
    p.needs.scale = m.weight != no_tensor;
    if (m.f32_needed) p.needs.emits = p.needs.emits | format::f32;
    if (m.quant_k > 0) p.needs.emits = p.needs.emits | chain.activation;
    p.sum = m.sum_needed;
    p.k = x.ne[0];
    p.rows = elements(x) / p.k;
    p.quant_k = m.quant_k;
    p.alignment = row_alignment(x);
    const auto also = [&p, &view](std::int32_t t) {
        p.alignment = std::min(p.alignment, row_alignment(view.at(t)));
    };
    if (m.residual != no_tensor) also(m.residual);
    if (m.weight != no_tensor) also(m.weight);
    if (m.f32_needed) also(m.activation);
    if (m.sum_needed) also(view.nodes[m.add]);
    return p;
}

/// A matvec problem without members yet, of the matmul at node `reader`.
inline problem matvec_problem(const graph_view& view, format activation, std::int32_t reader) {
    const tensor& t = view.node(reader);
    const tensor& x = view.at(t.src[1]);
    problem p;
    p.needs.kind = skeleton::matvec;
    p.needs.activation = activation;
    p.expert = t.kind == op::mul_mat_id;
    p.k = x.ne[0];
    p.columns = elements(x) / x.ne[0];
    if (p.expert) {
        const tensor& ids = view.at(t.src[2]);
        p.tokens = ids.ne[1];
        p.columns = ids.ne[0] * ids.ne[1];
    }
    return p;
}

/// Adds the matrix of node `reader` to a group's problem.
inline void add_member(const graph_view& view, problem& p, std::int32_t reader) {
    const tensor& w = view.at(view.node(reader).src[0]);
    problem_member& m = p.member[p.member_count++];
    m.type = w.type;
    m.rows = static_cast<std::int32_t>(w.ne[1]);
    m.experts = p.expert ? static_cast<std::int32_t>(w.ne[2]) : 0;
    p.needs.weights = p.needs.weights | w.type;
    p.alignment = std::min(p.alignment, base_alignment(w));
}

inline row_strides strides_of(const tensor& t) { return {t.nb[1], t.nb[2], t.nb[3]}; }

/// Arguments of a row step; the quantized output is filled in at launch. `missing` is set when an
/// address is.
inline row_args row_arguments(const graph_view& view, const match& m, bool& missing) {
    const auto data = [&view, &missing](std::int32_t t) {
        missing = missing || view.at(t).data == nullptr;
        return static_cast<float*>(view.at(t).data);
    };
    const tensor& x = view.at(m.x);
    row_args a;
    a.x = data(m.x);
    a.x_at = strides_of(x);
    if (m.residual != no_tensor) {
        a.residual = data(m.residual);
        a.residual_at = strides_of(view.at(m.residual));
    }
    if (m.weight != no_tensor) {
        a.weight = data(m.weight);
        a.weight_early = true;  // the matcher takes leaves only
    }
    if (m.sum_needed) {
        a.sum = data(view.nodes[m.add]);
        a.sum_at = strides_of(view.node(m.add));
    }
    if (m.f32_needed) {
        a.f32 = data(m.activation);
        a.f32_at = strides_of(view.at(m.activation));
    }
    a.k = static_cast<std::int32_t>(x.ne[0]);
    a.rows = static_cast<std::int32_t>(elements(x) / x.ne[0]);
    a.n1 = static_cast<std::int32_t>(x.ne[1]);
    a.n2 = static_cast<std::int32_t>(x.ne[2]);
    a.quant_k = static_cast<std::int32_t>(m.quant_k);
    a.quant_blocks = m.quant_k > 0 ? static_cast<std::int32_t>(q8_1_row_blocks(m.quant_k)) : 0;
    a.eps = m.eps;
    return a;
}

/// The part of a group that is one matrix.
inline matvec_member member_arguments(const graph_view& view, std::int32_t reader,
                                      std::int32_t first_band, bool& missing) {
    const tensor& dst = view.node(reader);
    const tensor& w = view.at(dst.src[0]);
    const bool expert = dst.kind == op::mul_mat_id;
    missing = missing || dst.data == nullptr || w.data == nullptr;
    matvec_member m;
    m.weight = w.data;
    m.dst = static_cast<float*>(dst.data);
    m.weight_bytes = extent_bytes(w);
    m.row_bytes = w.nb[1];
    m.expert_bytes = expert ? w.nb[2] : 0;
    m.dst_nb1 = dst.nb[1];
    m.dst_nb2 = dst.nb[2];
    m.rows = static_cast<std::int32_t>(w.ne[1]);
    m.first_band = first_band;
    m.experts = expert ? static_cast<std::int32_t>(w.ne[2]) : 0;
    m.type = w.type;
    return m;
}

}  // namespace catena
