#include "matvec_activation.hpp"

#include "compare.hpp"

#include "catena_test/catch.hpp"

namespace catena_test {

namespace {

/// A launch in the making: the arguments, and where each member writes.
struct prepared {
    std::vector<matvec_member> members;
    std::vector<std::size_t> dst_bytes;  ///< per member
    int bands = 0;                       ///< of all members; tiles of a matmul
    float* norm_f32 = nullptr;           ///< where the launch writes its norm
    void* norm_q8_1 = nullptr;
    route_args routing;
    head_group heads;
};

/// A layout in which a member may be quantized, and where its operand is.
struct quantized_as {
    format layout;
    void* matvec_member::*to;
};
constexpr quantized_as by_matvec[] = {{format::q8_1, &matvec_member::q8_1}};
constexpr quantized_as by_matmul[] = {{format::q8_1_mmq_d4, &matvec_member::q8_1_mmq_d4},
                                      {format::q8_1_mmq_ds4, &matvec_member::q8_1_mmq_ds4},
                                      {format::bf16_mma, &matvec_member::bf16_mma},
                                      {format::f16_mma, &matvec_member::f16_mma}};
std::span<const quantized_as> layouts_of(const instance& on) {
    if (on.computes.kind() == skeleton::matvec) return by_matvec;
    return by_matmul;
}

/// Bytes of an activation of that many results.
std::size_t quantized_bytes(format layout, std::int64_t rows) {
    return static_cast<std::size_t>(activation_row_bytes(layout, rows));
}

std::size_t squares_bytes(const member_shape& m, std::size_t columns) {
    return static_cast<std::size_t>(m.rows / 32) * columns * sizeof(float);
}

/// The two matrices of a GLU behind each other, those of each expert for itself.
bytes in_one_tensor(const matvec_case& c, const member_shape& m, const member_data& d) {
    const auto gap = static_cast<std::ptrdiff_t>(gap_bytes(c, m.type));
    const std::ptrdiff_t all = static_cast<std::ptrdiff_t>(d.weight.size()) + gap,
                         one = all / static_cast<std::ptrdiff_t>(matrices(c, m));
    bytes out;
    for (std::ptrdiff_t at = 0; at < all; at += one)
        for (const bytes* of : {&d.weight, &d.up}) {
            const std::ptrdiff_t end = std::min(at + one, all - gap);
            out.insert(out.end(), of->begin() + at, of->begin() + end);
            out.resize(out.size() + static_cast<std::size_t>(at + one - end));
        }
    out.resize(out.size() - static_cast<std::size_t>(gap));
    return out;
}

/// Adds a member whose blocks take `band_rows` weight rows.
void put_member(machine& on, std::span<const quantized_as> layouts, const matvec_case& c,
                const member_shape& shape, const member_data& d, int band_rows, prepared& to) {
    const std::string which = std::string(" ").append(std::to_string(to.members.size()));
    const bool scaled = shape.parts.has(epilogue_part::scale);
    const auto weights = c.early ? contents::weights : contents::data;
    const auto columns = static_cast<std::size_t>(c.columns_of(shape));
    const auto floats = [&](const char* what, const std::vector<float>& data) {
        return data.empty() ? nullptr
                            : static_cast<const float*>(
                                  on.put(what + which, contents::data, to_bytes(data)));
    };
    matvec_member& m = to.members.emplace_back();
    const bytes weight = shape.halves ? in_one_tensor(c, shape, d) : d.weight;
    m.row_bytes = row_stride(c, shape.type);
    const std::int64_t half = shape.halves ? shape.rows * m.row_bytes : 0;
    m.weight = on.put("weight" + which, weights, weight, static_cast<std::size_t>(c.offset));
    m.weight_bytes = static_cast<std::int64_t>(weight.size()) - half;
    m.experts = c.experts_of(shape);
    m.expert_bytes = m.experts == 0 ? 0 : shape.rows * m.row_bytes + half;
    m.rows = shape.rows;
    m.type = shape.type;
    if (!d.up.empty()) {  // its own distance from a boundary
        const int offset = c.offset == 0 ? 0 : (c.offset + 6) % 16;
        m.up = shape.halves ? static_cast<const std::byte*>(m.weight) + half
                            : on.put("up" + which, weights, d.up, static_cast<std::size_t>(offset));
    }
    if (has_function(shape)) {
        const op_numbers numbers = is_own(shape.function) ? own_numbers : clamped;
        m.function = shape.function;
        m.alpha = numbers.a;
        m.limit = numbers.b;
    }
    if (shape.parts.has(epilogue_part::own)) m.own = {shape.own, own_numbers};
    if (scaled) m.scale = product_scale;
    m.weight_scale = floats("weight_scale", d.scale);
    m.up_scale = floats("up_scale", d.up_scale);
    const fp8_scales scales = scales_of(c, shape);
    const bool square = scales.scaling == fp8_scaling::square;
    m.scale_rows = square ? 128 : scales.scaling == fp8_scaling::row ? 1 : shape.rows;
    m.scale_values = square ? static_cast<std::int32_t>(scales.side) : c.k;
    m.scale_stride = square ? static_cast<std::int32_t>(scales.across()) : 1;
    m.scales = static_cast<std::int32_t>(scales.count());
    m.factor = floats("factor", d.factor);
    m.up_factor = floats("up_factor", d.up_factor);
    const bool several = shape.by_column || (m.experts > 0 && !c.numbered);
    m.factor_step = several && m.factor != nullptr ? 1 : 0;
    m.bias = floats("bias", d.bias);
    m.up_bias = floats("up_bias", d.up_bias);
    m.bias_nb1 = several ? 4 * (shape.rows + bias_gap) : 0;
    m.dst_nb1 = 4 * (shape.rows + dst_gap);
    const int of_token = c.combined() || shape.dense ? 1 : c.slots;  // results
    m.dst_nb2 = m.dst_nb1 * of_token;
    m.residual_nb1 = 4 * (shape.rows + residual_gap(shape));
    m.residual_nb2 = m.residual_nb1 * of_token;
    to.dst_bytes.push_back(shape.written ? static_cast<std::size_t>(m.dst_nb1) * columns : 0);
    if (shape.in_place)
        m.residual = m.dst =
            static_cast<float*>(on.put("dst" + which, contents::data, to_bytes(d.residual)));
    else
        m.residual = floats("residual", d.residual);
    if (shape.written && !shape.in_place)
        m.dst = static_cast<float*>(on.blank("dst" + which, to.dst_bytes.back()));
    if (shape.parts.has(epilogue_part::quantize))
        for (const auto& [layout, operand] : layouts)
            if (shape.layouts.empty() || shape.layouts.has(layout))
                m.*operand =
                    on.blank(name(layout) + which, quantized_bytes(layout, shape.rows) * columns);
    if (shape.begins) {
        m.begun_weight = static_cast<const float*>(
            on.put("weight of the next norm" + which, contents::weights, to_bytes(d.begun_weight)));
        m.begun_squares =
            static_cast<float*>(on.blank("squares" + which, squares_bytes(shape, columns)));
    }
    m.first_band = to.bands;
    const int results = m.up != nullptr ? band_rows / 2 : band_rows;
    to.bands += (shape.rows + results - 1) / results;
}

/// What the arguments of both skeletons have in common.
template <class Args>
Args common_args(machine& on, const matvec_case& c, const prepared& p, const bytes& activation) {
    Args a;
    a.x = on.put("activation", contents::data, activation);
    a.k = c.k;
    a.columns = c.out_columns();
    a.members = static_cast<int>(p.members.size());
    std::copy(p.members.begin(), p.members.end(), a.member);
    if (c.experts != 0) {
        if (!c.numbered && !c.routed)
            a.ids =
                static_cast<const std::int32_t*>(on.put("ids", contents::data, to_bytes(c.ids)));
        a.ids_nb1 = 4 * c.slots;
        a.slots = c.slots;
        a.x_slots = c.x_slots;
    }
    return a;
}

std::string launch_matvec(machine& machine, const instance& on, const matvec_case& c, prepared& p,
                          const bytes& activation) {
    auto a = common_args<matvec_args>(machine, c, p, activation);
    a.x_bytes = stored_bytes(on.computes.product().activation, c.k);
    if (reads_columns_of_f32(on)) a.x_bytes += column_gap;
    if (c.as_f32) a.x_bytes = 4 * c.k;
    if (c.norm) {
        a.eps = norm_eps;
        a.norm_weight = static_cast<const float*>(
            machine.put("weight of the norm", contents::weights, to_bytes(norm_weight(c))));
    }
    if (c.gate) {
        const op_numbers numbers = is_own(c.gate->function) ? own_numbers : clamped;
        a.gate = {static_cast<const float*>(
                      machine.put("gate", contents::data, to_bytes(gate_values_of(c)))),
                  4 * (c.gate->k + c.gate->gap),
                  c.gate->k,
                  c.gate->function,
                  numbers.a,
                  numbers.b};
    }
    const auto columns = static_cast<std::size_t>(c.columns),
               values = static_cast<std::size_t>(c.k);
    if (c.emits.has(format::f32))
        p.norm_f32 = static_cast<float*>(machine.blank("norm", columns * 4 * values));
    if (c.emits.has(format::q8_1))
        p.norm_q8_1 = machine.blank("quantized norm", columns * quantized_bytes(format::q8_1, c.k));
    if (c.ends) {
        a.eps = norm_eps;
        a.begun_squares = static_cast<const float*>(
            machine.put("squares", contents::data, to_bytes(make_data(on, c).squares)));
    }
    a.norm_f32 = p.norm_f32;
    a.norm_q8_1 = p.norm_q8_1;
    if (c.routed) {
        a.routing = p.routing = put_routing(machine, *c.routed);
        a.ids = a.routing.ids, a.ids_nb1 = a.routing.ids_nb;
    }
    if (c.heads) a.heads = p.heads = put_results(machine, *c.heads);
    a.combined = c.combined();
    if (a.combined && c.weighted)
        a.slot_weights = static_cast<const float*>(
            machine.put("weights of the slots", contents::data, to_bytes(slot_weights(c))));
    a.band_rows = c.band_rows;
    a.bands = p.bands;
    for (const matvec_member& m : p.members)
        if (c.experts != 0 && m.experts == 0) a.bands = std::min(a.bands, m.first_band);
    a.dense_bands = p.bands - a.bands;
    a.weights_early = c.early;
    const block_shape block = block_of(on, c);
    a.finished = block.finished;
    const int all = c.experts == 0 ? p.bands : a.columns * a.bands + c.tokens() * a.dense_bands;
    const int of_norms =
        c.emits.empty() ? 0 : c.columns * blocks_that_write(on.policy.matvec(), a.k);
    const int writers = c.routed ? c.routed->tokens : of_norms;
    const launch_config config{.blocks = static_cast<std::uint32_t>(all * c.cluster + writers),
                               .threads = static_cast<std::uint32_t>(block.threads),
                               .shared_bytes = static_cast<std::uint32_t>(block.shared),
                               .dependent = on.dependent,
                               .cluster = static_cast<std::uint32_t>(c.cluster)};
    return machine.launch(on.kernel, config, &a, sizeof a);
}

std::string launch_matmul(machine& machine, const instance& on, const matvec_case& c, prepared& p,
                          const bytes& activation) {
    auto a = common_args<matmul_args>(machine, c, p, activation);
    a.x_rows = c.x_rows();
    a.x_bytes = rounds(on) ? 4 * c.k + column_gap : c.k;  // float weights
    a.experts = c.matrices();
    a.tiles = p.bands;
    const int column_tiles = (a.columns + columns_of(on.policy) - 1) / columns_of(on.policy);
    const launch_config config{
        .blocks = static_cast<std::uint32_t>(
            p.bands * (c.experts == 0 ? column_tiles : c.matrices()) * c.cluster),
        .threads = static_cast<std::uint32_t>(on.policy.threads()),
        .shared_bytes =
            static_cast<std::uint32_t>(shared_bytes(on.computes, on.policy, c.k, a.columns)),
        .dependent = on.dependent,
        .cluster = static_cast<std::uint32_t>(c.cluster)};
    return machine.launch(on.kernel, config, &a, sizeof a);
}

/// A result, column by column. The gaps between them must be as they were: blank, or of a residual
/// that it was written over.
std::vector<float> without_gaps(const matvec_case& c, const member_shape& m, const bytes& written,
                                const std::vector<float>& residual) {
    const auto rows = static_cast<std::size_t>(m.rows), stride = rows + dst_gap;
    const bytes before = m.in_place ? to_bytes(residual) : bytes(written.size(), untouched);
    std::vector<float> out;
    bool gaps_untouched = true;
    for (std::size_t column = 0; column < static_cast<std::size_t>(c.columns_of(m)); ++column) {
        const auto line = std::span(written).subspan(column * stride * 4, stride * 4);
        const auto values = from_bytes<float>(line.first(rows * 4));
        out.insert(out.end(), values.begin(), values.end());
        const auto was = std::span(before).subspan((column * stride + rows) * 4, dst_gap * 4);
        gaps_untouched = gaps_untouched && std::ranges::equal(line.subspan(rows * 4), was);
    }
    CHECK(gaps_untouched);
    return out;
}

}  // namespace

matvec_outputs run(const instance& on, const matvec_case& c) {
    const auto machine = on.make_machine();
    const matvec_data d = make_data(on, c);
    const bool matmul = on.computes.kind() == skeleton::matmul;
    prepared p;
    for (std::size_t m = 0; m < c.members.size(); ++m)
        put_member(*machine, layouts_of(on), c, c.members[m], d.members[m],
                   matmul ? tile_rows(on.policy.matmul()) : c.band_rows, p);
    const bytes activation = c.as_f32 ? to_bytes(d.x) : laid_out(on, d);
    REQUIRE((matmul ? launch_matmul : launch_matvec)(*machine, on, c, p, activation) == "");

    matvec_outputs out(c.members.size());
    for (std::size_t m = 0; m < c.members.size(); ++m) {
        const matvec_member& from = p.members[m];
        if (from.dst != nullptr)
            out[m].f32 = without_gaps(c, c.members[m], machine->read(from.dst, p.dst_bytes[m]),
                                      d.members[m].residual);
        for (const auto& [layout, operand] : layouts_of(on))
            if (from.*operand != nullptr)
                out[m].quantized[layout] = machine->read(
                    from.*operand, quantized_bytes(layout, from.rows) *
                                       static_cast<std::size_t>(c.columns_of(c.members[m])));
        if (from.begun_squares != nullptr)
            out[m].squares = machine->read(
                from.begun_squares,
                squares_bytes(c.members[m], static_cast<std::size_t>(c.columns_of(c.members[m]))));
    }
    if (c.heads) {
        const std::vector<bytes> caches = read_caches(*machine, *c.heads, p.heads);
        for (std::size_t m = 0; m < caches.size(); ++m)
            if (!caches[m].empty()) out[m].quantized[c.heads->values[m].cache] = caches[m];
    }
    if (c.routed) {
        const route_outputs found = read_routing(*machine, p.routing);
        out.push_back({from_bytes<float>(found.weights), {{format::i32, found.ids}}});
    }
    if (c.emits.empty()) return out;
    matvec_output& norm = out.emplace_back();
    const auto columns = static_cast<std::size_t>(c.columns),
               values = static_cast<std::size_t>(c.k);
    if (p.norm_f32 != nullptr)
        norm.f32 = from_bytes<float>(machine->read(p.norm_f32, columns * 4 * values));
    if (p.norm_q8_1 != nullptr)
        norm.quantized[format::q8_1] =
            machine->read(p.norm_q8_1, columns * quantized_bytes(format::q8_1, c.k));
    return out;
}

namespace {

/// The row that a column was quantized to, padding too: of a matmul, the column's blocks of all
/// that lie together.
bytes quantized_row(const matvec_output& out, format layout, const member_shape& m, int column) {
    const bytes& all = out.quantized.at(layout);
    const std::size_t row = quantized_bytes(layout, m.rows);
    const std::size_t columns = all.size() / row, at = static_cast<std::size_t>(column);
    const std::size_t piece =
        layout == format::q8_1 ? row : static_cast<std::size_t>(info(layout).block_bytes);
    bytes own;
    for (std::size_t first = at * piece; first < all.size(); first += columns * piece)
        own.insert(own.end(), all.begin() + static_cast<std::ptrdiff_t>(first),
                   all.begin() + static_cast<std::ptrdiff_t>(first + piece));
    return own;
}

/// What was written of one column, as f32; of a result that is only quantized, decoded.
std::vector<float> written_column(const matvec_output& out, const member_shape& m, int column) {
    const auto rows = static_cast<std::ptrdiff_t>(m.rows);
    if (m.written) return {out.f32.begin() + column * rows, out.f32.begin() + (column + 1) * rows};
    const format layout = out.quantized.begin()->first;
    auto values = decode_row<float>(layout, quantized_row(out, layout, m, column),
                                    stored_elements(layout, m.rows));
    values.resize(static_cast<std::size_t>(m.rows));
    return values;
}

/// The requantized column follows the codec to the bit, padding included. `begun_weight`: of the
/// norm that begins; empty: none does.
void check_quantized(const matvec_output& out, const member_shape& m, int column,
                     const std::vector<float>& begun_weight = {}) {
    for (const auto& [layout, all] : out.quantized) {
        INFO(name(layout));
        auto padded = written_column(out, m, column);
        for (std::size_t i = 0; i < begun_weight.size(); ++i) padded[i] *= begun_weight[i];
        padded.resize(static_cast<std::size_t>(stored_elements(layout, m.rows)));
        CHECK(quantized_row(out, layout, m, column) == encode_row(layout, padded));
    }
}

/// The squares of a column are sums of f32, all of them positive.
void check_squares(const matvec_output& out, const member_shape& m, int column) {
    const std::vector<double> wanted = squares_of(written_column(out, m, column));
    const std::vector<float> all = from_bytes<float>(out.squares);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        INFO("squares of 32 rows from row " << 32 * i);
        const double got{all[static_cast<std::size_t>(column) * wanted.size() + i]};
        CHECK((std::isnan(wanted[i]) ? std::isnan(got)
                                     : std::abs(got - wanted[i]) <= 1e-6 * wanted[i] + 1e-37));
    }
}

/// `same_activation`: wanted with the activation that is multiplied, or empty if nobody knows it.
void check_member(const instance& on, const matvec_case& c, const member_shape& m,
                  const member_data& d, const matvec_output& out,
                  const std::vector<double>& same_activation, const std::vector<double>& plain) {
    std::vector<float> got;
    std::vector<double> wanted, unquantized;
    for (int column = 0; column < c.columns_of(m); ++column) {
        INFO("column " << column);
        if (m.written) check_quantized(out, m, column, d.begun_weight);
        if (m.begins) check_squares(out, m, column);
        const std::vector<float> line = written_column(out, m, column);
        if (column_is_nan(c, m, column)) {
            CHECK(std::ranges::all_of(line, [](float v) { return std::isnan(v); }));
            continue;
        }
        if (c.put == special::zeros && m.parts.empty())
            CHECK(std::ranges::all_of(line, [](float v) { return v == 0; }));
        const auto first = static_cast<std::ptrdiff_t>(column) * m.rows, last = first + m.rows;
        got.insert(got.end(), line.begin(), line.end());
        if (!same_activation.empty())
            wanted.insert(wanted.end(), same_activation.begin() + first,
                          same_activation.begin() + last);
        unquantized.insert(unquantized.end(), plain.begin() + first, plain.begin() + last);
    }
    const bool rounded_alike = reads_f32(on.computes.product().weights) &&
                               on.computes.product().weights.size() == 1 &&
                               on.computes.kind() == skeleton::matmul;
    const bool sure = !wanted.empty() && (c.put != special::any_value || rounded_alike);
    const double rounding = !m.written ? 5e-4 : rounded_alike ? 1e-11 : c.gate ? 1e-5 : 1e-6;
    if (sure) CHECK(nmse<float>(got, wanted) <= rounding);
    // A gate's large values among small ones would decide, or one sum that cancels.
    if (c.gate ? sure || got.size() < 8 : decodes(on) && got.size() < 8) return;
    const bool rounds_to_e4m3 = reads_fp8(on) && c.put == special::any_value;
    CHECK(nmse<float>(got, unquantized) <= (rounds_to_e4m3 ? 2e-3 : 5e-4));
}

/// The launch quantized what it multiplied, so that nobody sees the activation.
void check_heads(const head_case& c, std::size_t which, bool written, const matvec_output& out,
                 const std::vector<double>& wanted) {
    if (written && c.check_numbers) CHECK(nmse<float>(out.f32, wanted) <= 5e-4);
    if (c.values[which].cache == format::unknown) return;
    const std::vector<float> stored =
        check_stored(c, which, out.quantized.at(c.values[which].cache), out.f32);
    if (!stored.empty() && c.check_numbers) CHECK(nmse<float>(stored, wanted) <= 5e-4);
}

}  // namespace

void check(const instance& on, const matvec_case& c, const matvec_outputs& outputs) {
    const matvec_data d = make_data(on, c);
    const auto in = reference_inputs(on, c, d);
    const auto chain = chain_of(c);
    const auto plain = chain::reference(chain, in);
    const std::vector<double> activation = decoded_activation(on, c, d);
    auto same = plain;
    if (!activation.empty())
        same = chain::reference_from_activation(chain, with_weights_of(on, in), activation);
    for (std::size_t m = 0; m < c.members.size(); ++m) {
        INFO("member " << m);
        if (c.heads)
            check_heads(*c.heads, m, c.members[m].written, outputs[m], plain.products[m]);
        else
            check_member(on, c, c.members[m], d.members[m], outputs[m],
                         activation.empty() ? activation : same.products[m], plain.products[m]);
    }
    if (c.routed) {
        INFO("experts and their weights");
        check(*c.routed, {outputs.back().quantized.at(format::i32), to_bytes(outputs.back().f32)});
    }
    if (c.emits.empty()) return;
    INFO("the norm");
    const member_shape norm{.type = format::f32, .rows = c.k, .written = c.emits.has(format::f32)};
    for (int column = 0; column < c.columns; ++column) {
        INFO("column " << column);
        if (norm.written) check_quantized(outputs.back(), norm, column);
        const std::vector<float> got = written_column(outputs.back(), norm, column);
        const auto first = plain.value.begin() + std::ptrdiff_t{column} * c.k;
        const std::vector<double> wanted(first, first + c.k);
        if (std::isnan(wanted[0]))
            CHECK(std::ranges::all_of(got, [](float v) { return std::isnan(v); }));
        else
            CHECK(nmse<float>(got, wanted) <= (norm.written ? 1e-12 : 5e-4));
    }
}

}  // namespace catena_test
