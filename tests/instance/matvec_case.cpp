#include "matvec_case.hpp"

#include "compare.hpp"

#include "catena/chain/reference.hpp"
#include "catena/format/codec.hpp"
#include "catena/format/random.hpp"
#include "catena/kernel/args.hpp"
#include "catena/kernel/layout.hpp"
#include "catena_test/catch.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace catena_test {
namespace {

using namespace catena;

constexpr int dst_gap = 3;  ///< floats between columns of dst

constexpr float norm_eps = 1e-6f;
constexpr float product_scale = 0.75f;
constexpr float gate_alpha = 1.702f, gate_limit = 0.5f;  ///< products go beyond it
constexpr int bias_gap = 1;                              ///< floats between the biases of experts

int residual_gap(const member_shape& m) { return m.in_place ? dst_gap : dst_gap + 2; }

/// A member's operands. Those of parts that are off are empty.
struct member_data {
    bytes weight, up;                  ///< gaps between rows included
    std::vector<float> bias, up_bias;  ///< [rows, matrices] with gaps
    std::vector<float> residual;       ///< [rows, columns] with gaps
    std::vector<float> scale, up_scale;  ///< of fp8, [of a matrix, matrices]
};

struct matvec_data {
    std::vector<float> x;     ///< [k, x_rows]
    std::vector<bytes> rows;  ///< the same, quantized, with padding
    std::vector<member_data> members;
};

/// A block, or 32 numbers, for each of the case's gaps.
std::int64_t gap_bytes(const matvec_case& c, format f) {
    return c.row_gap * row_bytes(f, std::max(32, info(f).block_elements));
}

std::int64_t row_stride(const matvec_case& c, format f) {
    return row_bytes(f, c.k) + gap_bytes(c, f);
}

/// Whose the scales of a member of fp8 are: each kind has its turn.
fp8_scales scales_of(const matvec_case& c, const member_shape& m) {
    return {static_cast<fp8_scaling>(m.rows % 3), m.rows, c.k};
}

std::size_t matrices(const matvec_case& c) {
    return static_cast<std::size_t>(c.experts == 0 ? 1 : c.experts);
}

/// Where the special value goes: the last row, the middle of the activation.
std::size_t special_at(const matvec_case& c) {
    return static_cast<std::size_t>((c.x_rows() - 1) * c.k + c.k / 2);
}

std::vector<float> random_values(std::uint64_t seed, std::size_t count) {
    std::vector<float> out(count);
    fill_random_values(seed, 0, out);
    return out;
}

std::vector<float> norm_weight(const matvec_case& c) {
    return random_values(8, static_cast<std::size_t>(c.k));
}

bytes random_weight(const matvec_case& c, const member_shape& m, std::uint64_t seed) {
    // The tensor ends with its last row's values: a gap behind it does not exist.
    const auto rows = static_cast<std::size_t>(m.rows) * matrices(c);
    bytes weight(rows * static_cast<std::size_t>(row_stride(c, m.type)) -
                 static_cast<std::size_t>(gap_bytes(c, m.type)));
    fill_random_blocks(m.type, seed, 0, weight);
    return weight;
}

member_data make_member(const matvec_case& c, const member_shape& m, std::uint64_t seed) {
    const auto rows = static_cast<std::size_t>(m.rows);
    const bool glu = m.parts.has(epilogue_part::glu);
    member_data d;
    d.weight = random_weight(c, m, seed);
    if (glu) d.up = random_weight(c, m, seed + 100);
    if (m.type == format::fp8_e4m3) {
        const auto count = static_cast<std::size_t>(scales_of(c, m).count()) * matrices(c);
        d.scale = random_values(seed + 500, count);
        if (glu) d.up_scale = random_values(seed + 600, count);
    }
    if (m.parts.has(epilogue_part::bias)) {
        d.bias = random_values(seed + 200, (rows + bias_gap) * matrices(c));
        if (glu) d.up_bias = random_values(seed + 300, (rows + bias_gap) * matrices(c));
    }
    if (m.parts.has(epilogue_part::residual))
        d.residual = random_values(
            seed + 400, static_cast<std::size_t>((m.rows + residual_gap(m)) * c.out_columns()));
    return d;
}

/// Values of which 32 have the same largest, 127 / 64: multiples of 1 / 64.
void make_exact(std::vector<float>& x) {
    for (std::size_t i = 0; i < x.size(); ++i)
        x[i] = i % 32 == i / 32 % 32 ? 127.0f / 64 : std::round(std::fmod(x[i] * 32, 127.0f)) / 64;
}

matvec_data make_data(const instance& on, const matvec_case& c) {
    matvec_data d;
    d.x.resize(static_cast<std::size_t>(c.k * c.x_rows()));
    if (c.put != special::zeros) fill_random_values(7, 0, d.x);
    if (on.computes.kind == skeleton::matmul && c.put != special::zeros &&
        c.put != special::any_value)
        make_exact(d.x);
    for (float& v : d.x) v *= c.magnitude;
    if (c.put == special::nan) d.x[special_at(c)] = std::numeric_limits<float>::quiet_NaN();
    if (c.put == special::infinity) d.x[special_at(c)] = std::numeric_limits<float>::infinity();
    for (int row = 0; row < c.x_rows(); ++row) {
        std::vector<float> padded(d.x.begin() + row * c.k, d.x.begin() + (row + 1) * c.k);
        padded.resize(static_cast<std::size_t>(stored_elements(on.computes.activation, c.k)));
        d.rows.push_back(encode_row(on.computes.activation, padded));
    }
    for (std::size_t m = 0; m < c.members.size(); ++m)
        d.members.push_back(make_member(c, c.members[m], 100 + m));
    return d;
}

bool exists(const matvec_case& c, std::int32_t id) { return id >= 0 && id < c.experts; }

std::vector<double> decoded_weight(const matvec_case& c, const member_shape& m,
                                   const bytes& weight, const std::vector<float>& scale) {
    std::vector<double> out;
    const fp8_scales scales = scales_of(c, m);
    const auto stride = static_cast<std::size_t>(row_stride(c, m.type));
    for (std::size_t at = 0; at < weight.size(); at += stride) {
        const auto raw =
            std::span(weight).subspan(at, static_cast<std::size_t>(row_bytes(m.type, c.k)));
        auto values = decode_row<double>(m.type, raw, c.k);
        const auto row = static_cast<std::int64_t>(at / stride);
        for (int i = 0; i < c.k && !scale.empty(); ++i)
            values[static_cast<std::size_t>(i)] *= double{scale[static_cast<std::size_t>(
                row / m.rows * scales.count() + scales.at(row % m.rows, i))]};
        out.insert(out.end(), values.begin(), values.end());
    }
    return out;
}

/// Rows of `length` elements, without the `gap` behind each.
std::vector<double> packed(const std::vector<float>& data, int length, int gap) {
    std::vector<double> out;
    for (std::size_t i = 0; i < data.size(); ++i)
        if (i % static_cast<std::size_t>(length + gap) < static_cast<std::size_t>(length))
            out.push_back(data[i]);
    return out;
}

chain::inputs reference_inputs(const matvec_case& c, const matvec_data& d) {
    chain::inputs in;
    in.k = c.k;
    in.rows = c.x_rows();
    in.x.assign(d.x.begin(), d.x.end());
    if (c.norm) in.weight = packed(norm_weight(c), c.k, 0);
    in.eps = double{norm_eps};
    in.ids = c.ids;
    for (std::int32_t& id : in.ids)
        if (!exists(c, id)) id = 0;
    in.slots = c.slots;
    in.x_slots = c.x_slots;
    for (std::size_t i = 0; i < c.members.size(); ++i) {
        const member_shape& m = c.members[i];
        const member_data& from = d.members[i];
        in.matrices.push_back(
            {.type = m.type,
             .rows = m.rows,
             .experts = c.experts,
             .values = decoded_weight(c, m, from.weight, from.scale),
             .scale = m.parts.has(epilogue_part::scale) ? product_scale : 1,
             .bias = packed(from.bias, m.rows, bias_gap),
             .up = decoded_weight(c, m, from.up, from.up_scale),
             .up_bias = packed(from.up_bias, m.rows, bias_gap),
             .residual = packed(from.residual, m.rows, residual_gap(m)),
             .gated_by = {.function = m.function, .alpha = gate_alpha, .limit = gate_limit}});
    }
    return in;
}

lowered_chain chain_of(const matvec_case& c) {
    format_set formats;
    for (const member_shape& m : c.members) formats = formats | m.type;
    lowered_chain chain{.name = "case", .signature = "", .count = 0, .stages = {}};
    const auto then = [&chain](const stage& s) { chain.stages[chain.count++] = s; };
    if (c.norm) {
        then({.kind = stage_kind::rms_norm});
        then({.kind = stage_kind::mul, .reads = operand::weight});
    }
    then({.kind = stage_kind::quantize, .formats = format_set::of(format::q8_1)});
    then({.kind = c.experts == 0 ? stage_kind::mul_mat : stage_kind::mul_mat_id,
          .formats = formats});
    then({.kind = stage_kind::epilogue, .parts = c.parts()});
    return chain;
}

std::vector<double> decoded_activation(const instance& on, const matvec_case& c,
                                       const matvec_data& d) {
    std::vector<double> out;
    for (const bytes& row : d.rows) {
        const format f = on.computes.activation;
        const auto values = decode_row<double>(f, row, stored_elements(f, c.k));
        out.insert(out.end(), values.begin(), values.begin() + c.k);
    }
    return out;
}

/// The rows as a skeleton reads them: one after the other, or the same block of all rows together.
bytes laid_out(const instance& on, const matvec_data& d) {
    const bool rows = on.computes.kind == skeleton::matvec;
    const std::size_t bytes_of_row = d.rows.front().size();
    const std::size_t piece =
        rows ? bytes_of_row : static_cast<std::size_t>(info(on.computes.activation).block_bytes);
    bytes out;
    for (std::size_t at = 0; at < bytes_of_row; at += piece)
        for (const bytes& row : d.rows)
            out.insert(out.end(), row.begin() + static_cast<std::ptrdiff_t>(at),
                       row.begin() + static_cast<std::ptrdiff_t>(at + piece));
    return out;
}

/// True when every product of that output column must be NaN.
bool column_is_nan(const matvec_case& c, int column) {
    if (c.experts != 0 && !exists(c, c.ids[static_cast<std::size_t>(column)])) return true;
    if (c.put != special::nan && c.put != special::infinity) return false;
    const int token = column / c.slots, slot = column % c.slots;
    const int x_row = c.experts == 0 ? column : token * c.x_slots + (c.x_slots == 1 ? 0 : slot);
    return x_row == c.x_rows() - 1;
}

}  // namespace

namespace {

/// A launch in the making: the arguments, and where each member writes.
struct prepared {
    std::vector<matvec_member> members;
    std::vector<std::size_t> dst_bytes, q8_1_bytes;  ///< per member
    int bands = 0;                                   ///< of all members; tiles of a matmul
};

/// Adds a member whose blocks take `band_rows` weight rows.
void put_member(machine& on, const matvec_case& c, const member_shape& shape, const member_data& d,
                int band_rows, prepared& to) {
    const std::string which = std::string(" ").append(std::to_string(to.members.size()));
    const bool scaled = shape.parts.has(epilogue_part::scale);
    const auto weights = c.early ? contents::weights : contents::data;
    const auto columns = static_cast<std::size_t>(c.out_columns());
    const auto floats = [&](const char* what, const std::vector<float>& data) {
        return data.empty() ? nullptr
                            : static_cast<const float*>(
                                  on.put(what + which, contents::data, to_bytes(data)));
    };
    matvec_member& m = to.members.emplace_back();
    bytes weight = d.weight;
    if (shape.halves) {
        weight.resize(weight.size() +
                      static_cast<std::size_t>(gap_bytes(c, shape.type)));
        weight.insert(weight.end(), d.up.begin(), d.up.end());
    }
    m.weight = on.put("weight" + which, weights, weight, static_cast<std::size_t>(c.offset));
    m.weight_bytes = static_cast<std::int64_t>(d.weight.size());
    m.row_bytes = row_stride(c, shape.type);
    m.expert_bytes = c.experts == 0 ? 0 : shape.rows * m.row_bytes;
    m.experts = c.experts;
    m.rows = shape.rows;
    m.type = shape.type;
    if (!d.up.empty()) {  // its own distance from a boundary
        const int offset = c.offset == 0 ? 0 : (c.offset + 6) % 16;
        m.up = shape.halves ? static_cast<const std::byte*>(m.weight) + shape.rows * m.row_bytes
                            : on.put("up" + which, weights, d.up, static_cast<std::size_t>(offset));
        m.function = shape.function;
        m.alpha = gate_alpha;
        m.limit = gate_limit;
    }
    if (scaled) m.scale = product_scale;
    m.weight_scale = floats("weight_scale", d.scale);
    m.up_scale = floats("up_scale", d.up_scale);
    const fp8_scales scales = scales_of(c, shape);
    const bool square = scales.scaling == fp8_scaling::square;
    m.scale_rows = square ? 128 : scales.scaling == fp8_scaling::row ? 1 : shape.rows;
    m.scale_values = square ? 128 : c.k;
    m.scale_stride = square ? (c.k + 127) / 128 : 1;
    m.scales = static_cast<std::int32_t>(scales.count());
    m.bias = floats("bias", d.bias);
    m.up_bias = floats("up_bias", d.up_bias);
    m.bias_nb1 = c.experts == 0 ? 0 : 4 * (shape.rows + bias_gap);
    m.dst_nb1 = 4 * (shape.rows + dst_gap);
    m.dst_nb2 = m.dst_nb1 * c.slots;
    m.residual_nb1 = 4 * (shape.rows + residual_gap(shape));
    m.residual_nb2 = m.residual_nb1 * c.slots;
    to.dst_bytes.push_back(shape.written ? static_cast<std::size_t>(m.dst_nb1) * columns : 0);
    if (shape.in_place)
        m.residual = m.dst =
            static_cast<float*>(on.put("dst" + which, contents::data, to_bytes(d.residual)));
    else
        m.residual = floats("residual", d.residual);
    if (shape.written && !shape.in_place)
        m.dst = static_cast<float*>(on.blank("dst" + which, to.dst_bytes.back()));
    const bool quantized = shape.parts.has(epilogue_part::quantize);
    to.q8_1_bytes.push_back(
        quantized ? static_cast<std::size_t>(q8_1_row_bytes(shape.rows)) * columns : 0);
    if (quantized) m.q8_1 = on.blank("q8_1" + which, to.q8_1_bytes.back());
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
        a.ids = static_cast<const std::int32_t*>(on.put("ids", contents::data, to_bytes(c.ids)));
        a.ids_nb1 = 4 * c.slots;
        a.slots = c.slots;
        a.x_slots = c.x_slots;
    }
    return a;
}

std::string launch_matvec(machine& machine, const instance& on, const matvec_case& c,
                          const prepared& p, const bytes& activation) {
    auto a = common_args<matvec_args>(machine, c, p, activation);
    a.x_bytes = stored_bytes(on.computes.activation, c.k);
    if (c.norm) {
        a.x_bytes = 4 * c.k;
        a.eps = norm_eps;
        a.norm_weight = static_cast<const float*>(
            machine.put("weight of the norm", contents::weights, to_bytes(norm_weight(c))));
    }
    a.band_rows = c.band_rows;
    a.bands = p.bands;
    a.weights_early = c.early;
    const int shared_columns = c.experts == 0 ? c.columns : 1;
    const launch_config config{
        .blocks = static_cast<std::uint32_t>(p.bands * (c.experts == 0 ? 1 : a.columns)),
        .threads = static_cast<std::uint32_t>(on.numbers.threads),
        .shared_bytes = static_cast<std::uint32_t>(
            shared_bytes(on.computes, on.numbers, c.k, shared_columns, c.parts())),
        .dependent = on.dependent};
    return machine.launch(on.kernel, config, &a, sizeof a);
}

std::string launch_matmul(machine& machine, const instance& on, const matvec_case& c,
                          const prepared& p, const bytes& activation) {
    auto a = common_args<matmul_args>(machine, c, p, activation);
    a.x_rows = c.x_rows();
    a.experts = c.experts;
    a.tiles = p.bands;
    const int column_tiles = (a.columns + on.numbers.columns - 1) / on.numbers.columns;
    const launch_config config{
        .blocks = static_cast<std::uint32_t>(p.bands * (c.experts == 0 ? column_tiles : c.experts)),
        .threads = static_cast<std::uint32_t>(on.numbers.threads),
        .shared_bytes =
            static_cast<std::uint32_t>(shared_bytes(on.computes, on.numbers, c.k, a.columns)),
        .dependent = on.dependent};
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
    for (std::size_t column = 0; column < static_cast<std::size_t>(c.out_columns()); ++column) {
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
    const bool matmul = on.computes.kind == skeleton::matmul;
    prepared p;
    for (std::size_t m = 0; m < c.members.size(); ++m)
        put_member(*machine, c, c.members[m], d.members[m],
                   matmul ? tile_rows(on.numbers) : c.band_rows, p);
    const bytes activation = c.norm ? to_bytes(d.x) : laid_out(on, d);
    REQUIRE((matmul ? launch_matmul : launch_matvec)(*machine, on, c, p, activation) == "");

    matvec_outputs out(c.members.size());
    for (std::size_t m = 0; m < c.members.size(); ++m) {
        const matvec_member& from = p.members[m];
        if (from.dst != nullptr)
            out[m].f32 = without_gaps(c, c.members[m], machine->read(from.dst, p.dst_bytes[m]),
                                      d.members[m].residual);
        if (from.q8_1 != nullptr) out[m].q8_1 = machine->read(from.q8_1, p.q8_1_bytes[m]);
    }
    return out;
}

namespace {

/// What was written of one column, as f32; of a result that is only quantized, decoded.
std::vector<float> written_column(const matvec_output& out, const member_shape& m, int column) {
    const auto rows = static_cast<std::ptrdiff_t>(m.rows);
    if (m.written) return {out.f32.begin() + column * rows, out.f32.begin() + (column + 1) * rows};
    const auto stride = static_cast<std::size_t>(q8_1_row_bytes(m.rows));
    return decode_row<float>(
        format::q8_1,
        std::span(out.q8_1).subspan(static_cast<std::size_t>(column) * stride, stride), m.rows);
}

/// The requantized column follows the codec to the bit, padding included.
void check_q8_1(const matvec_output& out, const member_shape& m, int column) {
    const auto wanted = encode_row(format::q8_1, written_column(out, m, column));
    const auto got = std::span(out.q8_1).subspan(static_cast<std::size_t>(column) * wanted.size(),
                                                 wanted.size());
    CHECK(std::ranges::equal(got, wanted));
}

void check_member(const matvec_case& c, const member_shape& m, const matvec_output& out,
                  const std::vector<double>& same_activation, const std::vector<double>& plain) {
    std::vector<float> got;
    std::vector<double> wanted, unquantized;
    for (int column = 0; column < c.out_columns(); ++column) {
        INFO("column " << column);
        if (m.written && m.parts.has(epilogue_part::quantize)) check_q8_1(out, m, column);
        const std::vector<float> line = written_column(out, m, column);
        if (column_is_nan(c, column)) {
            CHECK(std::ranges::all_of(line, [](float v) { return std::isnan(v); }));
            continue;
        }
        if (c.put == special::zeros && m.parts.empty())
            CHECK(std::ranges::all_of(line, [](float v) { return v == 0; }));
        const auto first = static_cast<std::ptrdiff_t>(column) * m.rows, last = first + m.rows;
        got.insert(got.end(), line.begin(), line.end());
        if (!c.norm)  // what the launch quantized nobody sees
            wanted.insert(wanted.end(), same_activation.begin() + first,
                          same_activation.begin() + last);
        unquantized.insert(unquantized.end(), plain.begin() + first, plain.begin() + last);
    }
    if (!wanted.empty() && c.put != special::any_value)
        CHECK(nmse<float>(got, wanted) <= (m.written ? 1e-6 : 5e-4));
    // Of a few rows the activation's own rounding may come to more than that of many.
    const std::vector<float> rounded(wanted.begin(), wanted.end());
    const double own = rounded.empty() ? 0 : nmse<float>(rounded, unquantized);
    CHECK(nmse<float>(got, unquantized) <= std::max(5e-4, 1.1 * own));
}

}  // namespace

void check(const instance& on, const matvec_case& c, const matvec_outputs& outputs) {
    const matvec_data d = make_data(on, c);
    const auto in = reference_inputs(c, d);
    const auto chain = chain_of(c);
    const auto plain = chain::reference(chain, in);
    const auto same_activation =
        c.norm ? plain : chain::reference_from_activation(chain, in, decoded_activation(on, c, d));
    for (std::size_t m = 0; m < c.members.size(); ++m) {
        INFO("member " << m);
        check_member(c, c.members[m], outputs[m], same_activation.products[m], plain.products[m]);
    }
}

}  // namespace catena_test
