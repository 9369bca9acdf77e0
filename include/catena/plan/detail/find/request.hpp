// From a match to what is asked of the table (problems) and what is handed to the kernels
// (arguments).
#pragma once

#include "catena/match/detail/epilogue.hpp"
#include "catena/match/detail/matcher.hpp"
#include "catena/pick/problem.hpp"
#include "catena/plan/detail/order/memory.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace CATENA_NAMESPACE {

/// The rows that a row step works on. Elementwise steps may cut rows as the matmuls read them.
struct row_shape {
    std::int64_t ne[4];
    bool recut = false;     ///< not the shape of the operands: they lie without gaps
    bool gathered = false;  ///< not the shape of the value, which lies without gaps
};

inline row_shape shape_of(const graph_view& view, const match& m) {
    const tensor& value = view.at(m.activation);
    const tensor& rows = rows_of(view, m);
    row_shape out{{rows.ne[0], rows.ne[1], rows.ne[2], rows.ne[3]}, false, &rows != &value};
    if (out.gathered) return out;
    if (!m.stages.has(stage_kind::glu) || m.quant_k == 0 || m.quant_k == value.ne[0]) return out;
    const auto whole = [&](const row_operand& o) {
        return o.tensor == no_tensor || (o.offset == 0 && contiguous(view.at(o.tensor)) &&
                                         elements(view.at(o.tensor)) == elements(value));
    };
    if (whole(m.reads[operand::x]) && whole(m.reads[operand::gate]) && contiguous(value))
        out = {{m.quant_k, quotient(elements(value), m.quant_k), 1, 1}, true};
    return out;
}

/// The largest power of two up to 16 that divides the address of every row of an operand, whose
/// rows are numbered as those of `value`.
inline int row_alignment(const graph_view& view, const row_operand& o, const tensor& value) {
    auto bits = static_cast<std::uint64_t>(base_alignment(view.at(o.tensor), o.offset));
    const std::int64_t strides[] = {o.at.nb1, o.at.nb2, o.at.nb3};
    for (int d = 0; d < 3; ++d)
        if (value.ne[d + 1] > 1) bits |= static_cast<std::uint64_t>(strides[d]);
    return static_cast<int>(bits & (~bits + 1));
}

/// The problem of the row step of a match. `layouts` are those in which the step quantizes.
inline row_problem problem_of(const graph_view& view, const match& m, format_set layouts) {
    row_problem p;
    p.needs.stages = m.stages;
    p.needs.own = is_own(m.params.function) || is_own(m.params.own.function);
    p.needs.emits = layouts;
    if (m.f32_needed) p.needs.emits = p.needs.emits | format::f32;
    p.sum = m.sum_needed;
    if (m.experts.found())
        p.slots =
            slot_rows_of(view, m.experts).slots + (m.reads[operand::x].tensor != no_tensor ? 1 : 0);
    const row_shape shape = shape_of(view, m);
    p.k = shape.ne[0];
    p.rows = shape.ne[1] * shape.ne[2] * shape.ne[3];
    p.quant_k = layouts.empty() ? 0 : m.quant_k;
    const auto reaches = [&](const row_operand& o) {
        if (o.tensor == no_tensor) return;
        const int own = shape.recut ? base_alignment(view.at(o.tensor))
                                    : row_alignment(view, o, rows_of(view, m));
        p.alignment = std::min(p.alignment, own);
    };
    const auto written = [&](std::int32_t t) { reaches({t, 0, strides_of(view.at(t))}); };
    for (const row_operand_field& f : row_operand_fields)
        if (f.shape != operand_shape::number) reaches(m.reads[f.which]);
    if (m.experts.found()) {
        const slot_rows rows = slot_rows_of(view, m.experts);
        const std::uint64_t bits = static_cast<std::uint64_t>(
            base_alignment(view.at(m.experts.results)) | rows.nb1 | (p.rows > 1 ? rows.nb2 : 0));
        p.alignment = std::min(p.alignment, static_cast<int>(bits & (~bits + 1)));
    }
    if (m.f32_needed) written(m.activation);
    if (m.sum_needed) written(view.nodes[m.sum]);
    return p;
}

/// The format of the matrix that the matmul at a node multiplies with.
inline format weight_type(const graph_view& view, std::int32_t matmul) {
    const std::int32_t weight = view.node(matmul).src[0];
    return weight == no_tensor ? format::unknown : view.at(weight).type;
}

/// Begins a group's problem, which has no members yet, with the matmul at node `reader`.
inline void begin_group(product_problem& p, const graph_view& view, skeleton kind, format layout,
                        std::int32_t reader) {
    const tensor& t = view.node(reader);
    const tensor& x = view.at(t.src[1]);
    p.needs.kind = kind;
    p.needs.activation = layout;
    p.expert = has_matrices(view, t);
    p.k = x.ne[0];
    p.columns = quotient(elements(x), x.ne[0]);
    if (t.kind == op::mul_mat_id) {
        const tensor& ids = view.at(t.src[2]);
        p.tokens = ids.ne[1];
        p.columns = ids.ne[0] * ids.ne[1];
    } else if (p.expert) {
        p.tokens = x.ne[1];
    }
}
inline product_problem empty_group(const graph_view& view, skeleton kind, format layout,
                                   std::int32_t reader) {
    product_problem p;
    begin_group(p, view, kind, layout, reader);
    return p;
}

/// Adds one output to a group's problem.
inline void add_member(const graph_view& view, product_problem& p, const output& o, bool quantized,
                       bool written) {
    const tensor& w = view.at(view.node(o.matmul).src[0]);
    problem_member& m = p.member[p.member_count++];
    m.type = w.type;
    m.rows = static_cast<std::int32_t>(o.halves() ? w.ne[1] / 2 : w.ne[1]);
    m.experts = has_matrices(view, view.node(o.matmul)) ? static_cast<std::int32_t>(w.ne[2]) : 0;
    m.epilogue = quantized ? o.parts | epilogue_part::quantize : o.parts;
    m.written = written;
    p.needs.weights = p.needs.weights | w.type;
    p.needs.epilogue = p.needs.epilogue | m.epilogue;
    p.needs.own = p.needs.own || is_own(o.params.function) || is_own(o.params.own.function);
    p.alignment = std::min(p.alignment, base_alignment(w));
    if (o.halves()) p.alignment = std::min(p.alignment, base_alignment(w, m.rows * w.nb[1]));
    if (o.up >= 0)
        p.alignment = std::min(p.alignment, base_alignment(view.at(view.node(o.up).src[0])));
}

/// Addresses of operands; remembers whether one is missing.
class addresses {
  public:
    explicit addresses(const graph_view& view) : view_(view) {}

    std::byte* of(std::int32_t tensor_index, std::int64_t offset = 0) {
        if (tensor_index == no_tensor) return nullptr;
        auto* data = static_cast<std::byte*>(view_.at(tensor_index).data);
        missing_ = missing_ || data == nullptr;
        return data == nullptr ? nullptr : data + offset;
    }
    float* floats(std::int32_t tensor_index, std::int64_t offset = 0) {
        return reinterpret_cast<float*>(of(tensor_index, offset));
    }
    bool missing() const { return missing_; }

  private:
    const graph_view& view_;
    bool missing_ = false;
};

/// Arguments of a row step; the quantized outputs are filled in at launch.
inline row_args row_arguments(const graph_view& view, const match& m, addresses& at) {
    const row_shape shape = shape_of(view, m);
    row_args a;
    const auto place = [&shape](const row_strides& own) {
        return shape.recut ? row_strides{shape.ne[0] * 4, 0, 0} : own;
    };
    static_cast<row_params&>(a) = m.params;
    for (const row_operand_field& f : row_operand_fields) {
        const row_operand& o = m.reads[f.which];
        a.*f.data = at.floats(o.tensor, o.offset);
        if (f.at != nullptr) a.*f.at = place(o.at);
    }
    if (m.experts.found()) {
        const slot_rows rows = slot_rows_of(view, m.experts);
        a.experts.results = at.floats(m.experts.results);
        a.experts.nb1 = rows.nb1;
        a.experts.nb2 = rows.nb2;
        a.experts.slots = static_cast<std::int32_t>(rows.slots);
        a.experts.weights = at.floats(m.experts.weights);
        if (m.experts.weights != no_tensor) {
            a.experts.weights_nb1 = view.at(m.experts.weights).nb[1];
            a.experts.weights_nb2 = view.at(m.experts.weights).nb[2];
        }
        a.experts.gate = at.floats(m.experts.gate);
        if (m.experts.gate != no_tensor) a.experts.gate_nb = view.at(m.experts.gate).nb[1];
    }
    a.weight_early =
        m.reads[operand::weight].tensor != no_tensor;  // the matcher takes weights only
    if (m.sum_needed) {
        a.sum = at.floats(view.nodes[m.sum]);
        a.sum_at = strides_of(view.node(m.sum));
    }
    if (m.f32_needed) {
        a.f32 = at.floats(m.activation);
        a.f32_at =
            shape.gathered ? packed(rows_of(view, m)) : place(strides_of(view.at(m.activation)));
    }
    a.k = static_cast<std::int32_t>(shape.ne[0]);
    a.rows = static_cast<std::int32_t>(shape.ne[1] * shape.ne[2] * shape.ne[3]);
    a.n1 = static_cast<std::int32_t>(shape.ne[1]);
    a.n2 = static_cast<std::int32_t>(shape.ne[2]);
    a.quant_k = static_cast<std::int32_t>(m.quant_k);
    a.quant_blocks = m.quant_k > 0 ? static_cast<std::int32_t>(q8_1_row_blocks(m.quant_k)) : 0;
    return a;
}

/// The scales of fp8 weights.
inline void fill_scales(matvec_member& m, const graph_view& view, const output& o, addresses& at) {
    const std::int32_t scales = scales_of(view, view.node(o.matmul));
    if (scales == no_tensor) return;
    const tensor& w = view.at(view.node(o.matmul).src[0]);
    const scale_shape shape = shape_of_scales(w, view.at(scales));
    m.weight_scale = at.floats(scales);
    m.scale_rows = static_cast<std::int32_t>(shape.rows);
    m.scale_values = static_cast<std::int32_t>(shape.values);
    m.scale_stride = static_cast<std::int32_t>(shape.stride);
    m.scales = static_cast<std::int32_t>(quotient(elements(view.at(scales)), w.ne[2]));
    if (o.up >= 0) m.up_scale = at.floats(scales_of(view, view.node(o.up)));
    if (!o.halves()) return;
    m.up_scale = at.floats(scales, w.ne[1] / 2 / shape.rows * shape.stride * 4);
    if (o.swapped) std::swap(m.weight_scale, m.up_scale);
}

/// The part of a group that is one output; where it is quantized to is filled in at launch.
inline void fill_member(matvec_member& m, const graph_index& g, const output& o,
                        const product_problem& asked, int index, std::int32_t first_band,
                        addresses& at) {
    const graph_view& view = g.view;
    const problem_member& what = asked.member[index];
    const tensor& made = view.node(o.matmul);
    const tensor& dst = view.at(o.result);
    const tensor& w = view.at(made.src[0]);
    m.weight = at.of(made.src[0]);
    m.weight_bytes =
        static_cast<std::int64_t>(g.bytes(made.src[0]).end - g.bytes(made.src[0]).begin);
    m.row_bytes = w.nb[1];
    m.expert_bytes = what.experts > 0 ? w.nb[2] : 0;
    if (o.up >= 0) {
        m.up = at.of(view.node(o.up).src[0]);
    } else if (o.halves()) {
        const std::int64_t half = what.rows * w.nb[1];  // of each matrix
        m.weight_bytes -= half;
        m.up = at.of(made.src[0], half);
        if (o.swapped) std::swap(m.weight, m.up);
    }
    if (what.written) m.dst = at.floats(o.result);
    const std::int64_t column = std::int64_t{4} * what.rows;  // without gaps
    const auto columns_of = [&](const tensor& t) {
        return o.renamed ? row_strides{column, column * made.ne[1], 0} : strides_of(t);
    };
    const auto strides = [&](const tensor& t, std::int64_t& nb1, std::int64_t& nb2) {
        const row_strides own = columns_of(t);
        nb1 = own.nb1;
        nb2 = one_for_token(asked, what) ? own.nb1 : own.nb2;
    };
    strides(dst, m.dst_nb1, m.dst_nb2);
    for (const part_operand_field& f : part_operand_fields) {
        const part_tensors& reads = o.reads[f.part];
        if (reads.tensor == no_tensor) continue;
        m.*f.data = at.floats(reads.tensor);
        if (f.of_up != nullptr) m.*f.of_up = at.floats(reads.of_up);
        const tensor& t = view.at(reads.tensor);
        const part_operand kind = info(f.part).reads;
        if (kind == part_operand::vector && !one_row(t)) m.*f.nb1 = t.nb[1];
        if (kind == part_operand::result) strides(t, m.*f.nb1, m.*f.nb2);
    }
    m.factor_step = o.many_factors ? 1 : 0;
    fill_scales(m, view, o, at);
    set_params(m, o.params);
    m.rows = what.rows;
    m.first_band = first_band;
    m.experts = what.experts;
    m.type = w.type;
}

}  // namespace CATENA_NAMESPACE
