#include "operands.hpp"

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

struct table_of_stretches {
    operands& to;
    dealer& deal;

    std::byte* input(std::int64_t bytes, format type = format::f32, std::int32_t id_limit = 0) {
        to.inputs.push_back({deal.input(bytes), bytes, type, id_limit});
        return to.inputs.back().at;
    }
    /// An activation of fp8_group: all rows, and then their scales.
    std::byte* scaled_input(std::int64_t data, std::int64_t scales) {
        std::byte* const at = deal.input(data + scales);
        to.inputs.push_back({at, data, format::fp8_e4m3});
        to.inputs.push_back({at + data, scales, format::f32});
        return at;
    }
    std::byte* output(std::int64_t bytes, format type = format::f32) {
        to.outputs.push_back({deal.output(bytes), bytes, type});
        return to.outputs.back().at;
    }
    float* values(std::int64_t count) { return reinterpret_cast<float*>(input(4 * count)); }
    /// Numbers below `end`.
    const std::int32_t* numbers(std::int64_t count, std::int64_t end) {
        return reinterpret_cast<const std::int32_t*>(
            input(4 * count, format::i32, static_cast<std::int32_t>(end)));
    }
    float* results(std::int64_t count) { return reinterpret_cast<float*>(output(4 * count)); }
};

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

/// A turn of all of a head.
rotation turn_of(std::int64_t k) {
    rope_numbers n;
    n.pairs = pairing::halves;
    n.dims = static_cast<std::int32_t>(k / 2 * 2);
    n.base = 10000;
    return rotation_of(n);
}

/// A problem does not say which heads are normed: all are, of one token of each sequence.
void fill_convolution(const row_problem& p, table_of_stretches s) {
    heads_args& a = s.to.heads;
    convolution_args& c = a.convolved;
    const std::int64_t channels = p.k * quotient(p.rows, p.sequences);
    const std::int64_t values = p.k * p.rows, kept = p.slots - 1;
    c.channels = static_cast<std::int32_t>(channels);
    c.length = static_cast<std::int32_t>(p.slots);
    c.states = c.sequences = static_cast<std::int32_t>(p.sequences);
    c.x = s.values(values);
    c.taps = s.values(p.slots * channels);
    c.state = s.values(kept * values), c.next_state = s.results(kept * values);
    c.x_nb = c.f32_nb = 4 * channels;
    c.state_nb = c.next_state_nb = 4 * kept * channels;
    if (p.sum) c.f32 = s.results(values);
    c.function = gate_function::silu;
    a.members = 1, a.tokens = c.sequences;
    a.rows = static_cast<std::int32_t>(p.rows);
    head_member& m = a.member[0];
    m.k = static_cast<std::int32_t>(p.k), m.heads = c.channels / m.k;
    m.normed = p.needs.stages.has(stage_kind::rms_norm), m.eps = 1e-6f;
    m.f32 = s.results(values);
    m.f32_nb1 = 4 * p.k, m.f32_nb2 = 4 * channels;
}

/// A problem does not say what the decay is made of, nor how many heads have a key: of a softplus
/// times a factor, and two. The next states lie elsewhere, so that all launches read the same.
void fill_delta_rule(const row_problem& p, table_of_stretches s) {
    heads_args& a = s.to.heads;
    head_member& m = a.member[0];
    const std::int64_t tokens = p.slots * p.sequences;
    m.k = static_cast<std::int32_t>(p.k);
    m.heads =
        static_cast<std::int32_t>(quotient(quotient(p.rows, p.sequences) * values_of_warp, p.k));
    a.members = 1, a.tokens = static_cast<std::int32_t>(tokens);
    a.rows = static_cast<std::int32_t>(p.rows);
    delta_args& d = a.recalled;
    d.key_heads = m.heads % 2 == 0 ? m.heads / 2 : m.heads;
    d.states = d.sequences = static_cast<std::int32_t>(p.sequences);
    const std::int64_t keys = p.k * d.key_heads, values = p.k * m.heads;
    d.queries = s.values(keys * tokens), d.keys = s.values(keys * tokens);
    d.values = s.values(values * tokens);
    d.queries_nb1 = d.keys_nb1 = d.values_nb1 = m.f32_nb1 = 4 * p.k;
    d.queries_nb2 = d.keys_nb2 = 4 * keys, d.values_nb2 = m.f32_nb2 = 4 * values;
    d.decay.first = s.values(m.heads * tokens), d.beta.first = s.values(m.heads * tokens);
    d.decay.abreast = d.beta.abreast = m.heads;
    d.decay.nb2 = d.beta.nb2 = 4 * m.heads;
    d.decay_factor = s.values(m.heads);
    d.state = s.values(p.k * values * p.sequences);
    d.next_state = s.results(p.k * values * p.sequences);
    d.state_ids = s.numbers(p.sequences, p.sequences);
    m.f32 = s.results(values * tokens);
}

/// A problem does not say how many values a head has, nor how many heads share b and c: 64, and
/// all. The next states lie elsewhere, as above.
void fill_scan(const row_problem& p, table_of_stretches s) {
    heads_args& a = s.to.heads;
    head_member& m = a.member[0];
    const std::int64_t tokens = p.slots * p.sequences,
                       values = quotient(p.rows, p.sequences) * values_of_warp;
    m.k = values % 64 == 0 ? 64 : values_of_warp;
    m.heads = static_cast<std::int32_t>(quotient(values, m.k));
    a.members = 1, a.tokens = static_cast<std::int32_t>(tokens);
    a.rows = static_cast<std::int32_t>(p.rows);
    scan_args& by = a.scanned;
    by.size = static_cast<std::int32_t>(p.k);
    by.states = by.sequences = static_cast<std::int32_t>(p.sequences);
    by.x = s.values(values * tokens), by.z = s.values(values * tokens);
    by.dt = s.values(m.heads * tokens);
    by.b = s.values(p.k * tokens), by.c = s.values(p.k * tokens);
    by.x_nb = by.z_nb = m.f32_nb2 = 4 * values;
    by.dt_nb = 4 * m.heads;
    by.b_nb = by.c_nb = 4 * p.k;
    by.a = s.values(m.heads), by.d = s.values(m.heads), by.dt_bias = s.values(m.heads);
    by.state = s.values(p.k * values * p.sequences);
    by.next_state = s.results(p.k * values * p.sequences);
    by.state_ids = s.numbers(p.sequences, p.sequences);
    m.f32 = s.results(values * tokens);
    m.f32_nb1 = 4 * m.k;
}

/// Stores the heads of a value in a cache of one row.
void store_heads(head_member& m, format cache, table_of_stretches s) {
    m.cache_type = cache;
    m.cache_nb = row_bytes(cache, std::int64_t{m.heads} * m.k);
    m.cache = s.output(m.cache_nb, cache);
    m.cache_rows = 1;
    m.cache_ids = s.input(4, format::i32, 1);
}

/// A problem does not say which heads are of which value, or token: those that are stored are of
/// one, and all others of another, of one token.
void fill_heads(const row_problem& p, table_of_stretches s) {
    if (convolves(p.needs.stages)) return fill_convolution(p, s);
    if (recalls(p.needs.stages)) return fill_delta_rule(p, s);
    if (scans(p.needs.stages)) return fill_scan(p, s);
    heads_args& a = s.to.heads;
    const auto add = [&](std::int64_t heads, format cache) {
        if (heads == 0) return;
        head_member& m = a.member[a.members++];
        m.k = static_cast<std::int32_t>(p.k), m.heads = static_cast<std::int32_t>(heads);
        m.first_row = a.rows;
        a.rows += m.heads;
        m.x = s.values(heads * p.k);
        m.x_nb1 = m.f32_nb1 = 4 * p.k;
        m.x_nb2 = m.f32_nb2 = 4 * p.k * heads;
        m.normed = p.needs.stages.has(stage_kind::rms_norm), m.eps = 1e-6f;
        if (p.needs.stages.has(stage_kind::mul_weight)) m.weight = s.values(p.k);
        m.turned = p.needs.stages.has(stage_kind::rope);
        if (cache == format::unknown) {
            m.f32 = s.results(heads * p.k);
            return;
        }
        store_heads(m, cache, s);
    };
    format cache = format::f32;
    for (const format f : p.needs.emits)
        if (f != format::f32) cache = f;
    a.tokens = 1;
    add(p.rows - p.stored, format::unknown);
    add(p.stored, cache);
    if (!p.needs.stages.has(stage_kind::rope)) return;
    a.turn = turn_of(p.k);
    a.positions = reinterpret_cast<const std::int32_t*>(s.input(4, format::i32, 4096));
}

/// A problem does not say how long the heads of its matrices are: 64 elements, or pairs. What is
/// not written is stored.
void fill_heads(const product_problem& p, table_of_stretches s) {
    head_group& a = s.to.matvec.heads;
    a.tokens = 1;
    std::int32_t k = 64;
    for (int i = 0; i < p.member_count; ++i)
        if (p.member[i].rows % k != 0) k = 2;
    a.turn = turn_of(k);
    a.positions = reinterpret_cast<const std::int32_t*>(s.input(4, format::i32, 4096));
    for (int i = 0; i < p.member_count; ++i) {
        head_member& m = a.member[a.members++];
        m.k = k, m.heads = p.member[i].rows / k;
        m.first_row = a.rows;
        a.rows += m.heads;
        m.turned = true;
        if (!p.member[i].written) store_heads(m, format::f16, s);
    }
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
    m.dst_nb2 = m.dst_nb1 * (combined(p) ? 1 : slots_of(p));
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
    a.ids = reinterpret_cast<const std::int32_t*>(s.input(4 * p.columns, format::i32, least));
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
    if (p.needs.emits.has(format::f32)) a.norm_f32 = s.results(p.k);
    if (p.needs.emits.has(format::q8_1)) a.norm_q8_1 = s.output(q8_1_row_bytes(p.k), format::q8_1);
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
