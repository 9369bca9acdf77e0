#include "operands.hpp"
#include "stretches.hpp"

#include "catena/kernel/layout.hpp"
#include "catena/pick/config.hpp"

namespace catena::bench {

std::byte* dealer::piece(std::size_t& next, std::size_t from, std::int64_t bytes) {
    const auto taken = static_cast<std::size_t>(round_up(bytes, 256));
    if (next + taken > half_) next = 0, again_ = true;
    std::byte* const at = data_ + from + next;
    next += taken;
    return at;
}

namespace {

/// Strides of a problem's rows, one behind the other, of elements of so many bytes.
row_strides packed_rows(std::int64_t element, const row_problem& p) {
    const std::int64_t all = element * p.rows * p.k;
    return {element * p.k, all, all};
}

void fill_row(const row_problem& p, table_of_stretches s) {
    row_args& a = s.to.row;
    const std::int64_t values = p.rows * p.k;
    if (p.slots > 0) {
        a.experts.results = s.values(p.slots * values);
        a.experts.nb1 = 4 * p.k;
        a.experts.nb2 = 4 * p.k * p.slots;
        a.experts.weights = s.values(p.slots * p.rows);
        a.experts.weights_nb1 = 4;
        a.experts.weights_nb2 = 4 * p.slots;
        a.experts.slots = static_cast<std::int32_t>(p.slots);
    } else {
        a.x = s.values(values);
    }
    for (const row_operand_field& f : row_operand_fields) {
        if (!f.optional && p.needs.stages.any(f.read_by))
            a.*f.data = s.values(f.shape == operand_shape::rows ? values : p.k);
        if (f.at != nullptr) a.*f.at = packed_rows(4, p);
    }
    if (gates(p.needs.stages)) a.function = gate_function::silu;
    if (p.needs.stages.has(stage_kind::own)) a.own = {own_function(0), {0.25f, 1.5f}};
    if (p.sum) a.sum = s.results(values);
    a.sum_at = packed_rows(4, p);
    each_plain_output(a, [&](format f, auto*& data, row_strides& at) {
        at = packed_rows(info(f).block_bytes, p);
        if (!p.needs.emits.has(f)) return;
        void* const to = s.output(info(f).block_bytes * values, f);
        data = static_cast<std::remove_reference_t<decltype(data)>>(to);
    });
    for (const layout_field<row_args>& f : layout_fields<row_args>)
        if (p.needs.emits.has(f.type))
            a.*f.to =
                s.output(values / p.quant_k * activation_row_bytes(f.type, p.quant_k), f.type);
    for (const scaled_output_field& f : scaled_output_fields) {
        if (!p.needs.emits.has(f.type)) continue;
        const std::int64_t scales = p.rows * scale_bytes(f.type, p.k);
        a.*f.to = {s.output(p.rows * row_bytes(f.type, p.k), f.type),
                   scales > 0 ? s.output(scales, format::unknown) : nullptr};
        if (f.scale != nullptr) a.*f.scale = s.values(1);
    }
    if (a.int8_token.data != nullptr)
        a.int8_sums = reinterpret_cast<std::int32_t*>(s.output(4 * p.rows, format::i32));
    a.k = static_cast<std::int32_t>(p.k);
    a.rows = a.n1 = static_cast<std::int32_t>(p.rows);
    a.quant_k = static_cast<std::int32_t>(p.quant_k);
    if (p.quant_k > 0) a.quant_blocks = static_cast<std::int32_t>(q8_1_row_blocks(p.quant_k));
    a.eps = a.next_eps = 1e-6f;
    a.weight_early = true;
}

/// A problem does not say how scores are made, nor how weights: this way takes the most time.
void fill_routing(route_args& a, stage_set does, std::int64_t experts, std::int64_t tokens,
                  std::int64_t chosen, table_of_stretches s) {
    a.experts = static_cast<std::int32_t>(experts), a.tokens = static_cast<std::int32_t>(tokens);
    a.numbers.chosen = static_cast<std::int32_t>(chosen);
    if (does.has(stage_kind::score)) a.numbers.score = scoring::soft_max;
    a.numbers.normalized = does.has(stage_kind::weigh);
    a.x = s.values(tokens * experts);
    a.x_nb = a.ids_nb = 4 * experts;
    a.weights_nb = 4 * chosen;
    a.ids = reinterpret_cast<std::int32_t*>(s.output(4 * tokens * experts, format::i32));
    a.weights = s.results(tokens * chosen);
}

/// The operand of an epilogue's part, without gaps. A factor is one number for all columns.
void fill_operand(matvec_member& m, const part_operand_field& f, std::int64_t matrices,
                  std::int64_t columns, table_of_stretches s) {
    const part_operand kind = info(f.part).reads;
    const std::int64_t count = kind == part_operand::number   ? 1
                               : kind == part_operand::vector ? m.rows * matrices
                                                              : m.rows * columns;
    m.*f.data = s.values(count);
    if (m.up != nullptr && f.of_up != nullptr) m.*f.of_up = s.values(count);
    if (f.nb1 != nullptr) m.*f.nb1 = m.dst_nb1;
    if (f.nb2 != nullptr) m.*f.nb2 = m.dst_nb2;
}

void fill_member(matvec_member& m, const product_problem& p, const problem_member& is,
                 table_of_stretches s) {
    const std::int64_t matrices = by_ids(p, is) ? is.experts : 1, columns = columns_of(p, is);
    m.type = is.type;
    m.rows = is.rows;
    m.experts = is.experts;
    m.row_bytes = row_bytes(is.type, p.k);
    m.expert_bytes = m.row_bytes * is.rows;
    m.weight_bytes = m.expert_bytes * matrices;
    m.weight = s.input(m.weight_bytes, is.type);
    if (is.epilogue.has(epilogue_part::glu)) {
        m.up = s.input(m.weight_bytes, is.type);
        m.function = gate_function::silu;
    }
    if (is.epilogue.has(epilogue_part::act)) m.function = gate_function::gelu;
    if (is.epilogue.has(epilogue_part::own)) m.own = {own_function(0), {0.25f, 1.5f}};
    if (is.type == format::fp8_e4m3) {  // a scale for every row
        m.weight_scale = s.values(is.rows * matrices);
        if (m.up != nullptr) m.up_scale = s.values(is.rows * matrices);
        m.scale_rows = m.scale_stride = 1;
        m.scale_values = static_cast<std::int32_t>(p.k);
        m.scales = is.rows;
    }
    m.dst_nb1 = 4 * std::int64_t{is.rows};
    m.dst_nb2 = m.dst_nb1 * (one_for_token(p, is) ? 1 : slots_of(p));
    for (const part_operand_field& f : part_operand_fields)
        if (is.epilogue.has(f.part)) fill_operand(m, f, matrices, columns, s);
    const bool quantized = is.epilogue.has(epilogue_part::quantize);
    if (quantized && p.needs.kind == skeleton::matmul)
        m.q8_1_mmq_d4 = s.output(columns * q8_1_row_bytes(is.rows), format::q8_1_mmq_d4);
    else if (quantized)
        m.q8_1 = s.output(columns * q8_1_row_bytes(is.rows), format::q8_1);
    if (quantized && p.begins_norm) {
        m.begun_weight = s.values(is.rows);
        m.begun_squares = s.results(is.rows / 32 * columns);
    }
    const bool elsewhere = quantized || has_heads(is.epilogue);
    if (is.written || !elsewhere) m.dst = s.results(is.rows * columns);
}

/// The members of a group's arguments.
template <class Args>
void fill_members(Args& a, const product_problem& p, std::int32_t band, table_of_stretches s) {
    std::int32_t bands = 0;
    for (int i = 0; i < p.member_count; ++i) {
        matvec_member& m = a.member[a.members++];
        fill_member(m, p, p.member[i], s);
        m.first_band = bands;
        bands += bands_of(p.member[i], band);
    }
}

/// Ids that every member has a matrix for.
template <class Args>
void fill_ids(Args& a, const product_problem& p, table_of_stretches s) {
    std::int32_t least = p.member[0].experts;
    for (int i = 1; i < p.member_count; ++i)
        if (by_ids(p, p.member[i]) && p.member[i].experts < least) least = p.member[i].experts;
    a.slots = static_cast<std::int32_t>(p.columns / p.tokens);
    a.ids_nb1 = 4 * std::int64_t{a.slots};
    a.ids =
        reinterpret_cast<const std::int32_t*>(s.input(4 * p.columns, format::i32, least, a.slots));
}

void fill_matvec(const product_problem& p, std::int32_t band, table_of_stretches s) {
    matvec_args& a = s.to.matvec;
    const std::int64_t rows = tokens_of(p);
    const format x = makes_norm(p) ? format::f32 : p.needs.activation;
    a.x_bytes = activation_row_bytes(x, p.k);
    a.x = s.input(a.x_bytes * rows, x);
    if (makes_norm(p)) a.norm_weight = s.values(p.k), a.eps = 1e-6f;
    if (gates_inside(p)) {
        a.gate.data = s.values(p.k);
        a.gate.nb1 = 4 * std::int64_t{p.gate_k};
        a.gate.k = p.gate_k;
        a.gate.function = gate_function::silu;
        if (has_norm(p.needs.stages)) a.norm_weight = s.values(p.gate_k), a.eps = 1e-6f;
    }
    // Random squares may be negative, but none is below -3.5: with this eps rms is a number.
    if (p.ends_norm) a.begun_squares = s.values(p.k / 32 * rows), a.eps = 1;
    if (p.needs.emits.has(format::f32)) a.norm_f32 = s.results(p.k * rows);
    if (p.needs.emits.has(format::q8_1))
        a.norm_q8_1 = s.output(q8_1_row_bytes(p.k) * rows, format::q8_1);
    a.k = static_cast<std::int32_t>(p.k);
    a.columns = static_cast<std::int32_t>(p.columns);
    a.band_rows = band;
    a.finished = static_cast<std::int32_t>(finished_results(p, band));
    a.weights_early = true;
    if (routes(p)) {
        fill_routing(a.routing, p.needs.stages, p.member[0].experts, p.tokens, slots_of(p), s);
        a.ids = a.routing.ids, a.ids_nb1 = a.routing.ids_nb;
        a.slots = a.routing.numbers.chosen;
    } else if (p.expert) {
        fill_ids(a, p, s);
    }
    if (combined(p)) {
        a.combined = true;
        a.columns = static_cast<std::int32_t>(p.tokens);
        a.slot_weights = s.values(p.columns);
    }
    a.bands = bands_of(p, band);
    a.dense_bands = dense_bands_of(p, band);
    fill_members(a, p, band, s);
    if (has_heads(p.needs.epilogue)) fill_heads(p, s);
}

void fill_matmul(const product_problem& p, std::int32_t band, table_of_stretches s) {
    matmul_args& a = s.to.matmul;
    const std::int64_t rows = tokens_of(p);
    const std::int64_t row = activation_row_bytes(p.needs.activation, p.k);
    const bool scaled = p.needs.activation == format::fp8_group;
    a.x_bytes = scaled ? p.k : row;
    a.x = scaled ? s.scaled_input(p.k * rows, (row - p.k) * rows)
                 : s.input(row * rows, p.needs.activation);
    a.k = static_cast<std::int32_t>(p.k);
    a.columns = static_cast<std::int32_t>(p.columns);
    a.x_rows = static_cast<std::int32_t>(rows);
    if (p.expert) fill_ids(a, p, s), a.experts = matrices_of(p);
    a.tiles = bands_of(p, band);
    fill_members(a, p, band, s);
}

}  // namespace

operands operands_of(const problem& p, std::int32_t band, dealer& deal) {
    operands out;
    out.kind = p.kind();
    if (out.kind == skeleton::row && has_heads(p.row().needs.stages))
        fill_heads(p.row(), {out, deal});
    else if (out.kind == skeleton::row && routes(p.row().needs.stages))
        fill_routing(out.route, p.row().needs.stages, p.row().k, p.row().rows, p.row().slots,
                     {out, deal});
    else if (out.kind == skeleton::row)
        fill_row(p.row(), {out, deal});
    else if (out.kind == skeleton::matvec)
        fill_matvec(p.product(), band, {out, deal});
    else
        fill_matmul(p.product(), band, {out, deal});
    return out;
}

}  // namespace catena::bench
