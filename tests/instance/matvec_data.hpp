// What a matvec case is made of: its operands, seeded, and what the reference is given.
#pragma once

#include "fp8_scales.hpp"
#include "matvec_case.hpp"

#include "catena/chain/reference.hpp"
#include "catena/exec/real.hpp"
#include "catena/format/codec.hpp"
#include "catena/format/random.hpp"
#include "catena/format/scaled.hpp"
#include "catena/kernel/args.hpp"
#include "catena/kernel/layout.hpp"
#include "catena_test/stored_scales.hpp"

#include <algorithm>
#include <limits>

namespace catena_test {

using namespace catena;

constexpr int dst_gap = 3;      ///< floats between columns of dst
constexpr int column_gap = 48;  ///< bytes between the f32 columns that a product reads

constexpr float norm_eps = 1e-6f;
constexpr float product_scale = 0.75f;
constexpr op_numbers clamped{1.702f, 0.5f};  ///< of swiglu_oai: products go beyond the limit
constexpr float product_factor = 1.25f, up_factor = -0.5f;
constexpr int bias_gap = 1;  ///< floats between the biases of experts

inline int residual_gap(const member_shape& m) { return m.in_place ? dst_gap : dst_gap + 2; }

/// A member's operands. Those of parts that are off are empty.
struct member_data {
    bytes weight, up;                      ///< gaps between rows included
    std::vector<float> factor, up_factor;  ///< one, or one for each expert
    std::vector<float> bias, up_bias;      ///< [rows, matrices] with gaps
    std::vector<float> residual;           ///< [rows, columns] with gaps
    std::vector<float> scale, up_scale;    ///< of fp8, [of a matrix, matrices]
    std::vector<float> begun_weight;       ///< of the norm that begins
};

struct matvec_data {
    std::vector<float> x;  ///< [k, x_rows]
    std::vector<bytes>
        rows;      ///< the same, or the norm of it that was begun, quantized, with padding
    bytes scales;  ///< of fp8, [k / 128, x_rows] f32
    std::vector<float> squares;  ///< [k / 32, x_rows], of a norm that was begun
    std::vector<member_data> members;
};

/// A block, or 32 numbers, for each of the case's gaps.
inline std::int64_t gap_bytes(const matvec_case& c, format f) {
    return c.row_gap * row_bytes(f, std::max(32, info(f).block_elements));
}

inline std::int64_t row_stride(const matvec_case& c, format f) {
    return row_bytes(f, c.k) + gap_bytes(c, f);
}

/// Whose the scales of a member of fp8 are: each kind has its turn; some have none.
inline fp8_scales scales_of(const matvec_case& c, const member_shape& m) {
    return {static_cast<fp8_scaling>(m.rows % 3), m.rows, c.k, c.k / 128 % 2 == 0 ? 128 : 384};
}

inline bool has_scales(const member_shape& m) {
    return m.type == format::fp8_e4m3 && m.rows % 5 != 4;
}

inline std::size_t matrices(const matvec_case& c, const member_shape& m) {
    return static_cast<std::size_t>(std::max(c.experts_of(m), 1));
}

/// Where the special value goes: the last row, the middle of the activation.
inline std::size_t special_at(const matvec_case& c) {
    return static_cast<std::size_t>((c.x_rows() - 1) * c.k + c.k / 2);
}

inline std::vector<float> random_values(std::uint64_t seed, std::size_t count) {
    std::vector<float> out(count);
    fill_random_values(seed, 0, out);
    return out;
}

/// [slots, tokens]; empty: each is 1.
inline std::vector<float> slot_weights(const matvec_case& c) {
    return c.weighted ? random_values(9, c.ids.size()) : std::vector<float>{};
}

inline std::vector<float> norm_weight(const matvec_case& c) {
    return random_values(8, static_cast<std::size_t>(c.gate ? c.gate->k : c.k));
}

/// With gaps between heads.
inline std::vector<float> gate_values_of(const matvec_case& c) {
    return random_values(10, static_cast<std::size_t>(c.k / c.gate->k * (c.gate->k + c.gate->gap)));
}

inline bytes random_weight(const matvec_case& c, const member_shape& m, std::uint64_t seed) {
    // The tensor ends with its last row's values: a gap behind it does not exist.
    const auto rows = static_cast<std::size_t>(m.rows) * matrices(c, m);
    bytes weight(rows * static_cast<std::size_t>(row_stride(c, m.type)) -
                 static_cast<std::size_t>(gap_bytes(c, m.type)));
    fill_random_blocks(m.type, seed, 0, weight);
    return weight;
}

/// Gives all matrices the bias of the first, if no ids pick them.
/// Vectors or numbers of an operand of the epilogue: for each matrix, or for each column.
inline std::size_t operands(const matvec_case& c, const member_shape& m) {
    return m.by_column ? static_cast<std::size_t>(c.columns_of(m)) : matrices(c, m);
}

inline std::vector<float> biases(const matvec_case& c, const member_shape& m, std::uint64_t seed) {
    const auto one = static_cast<std::size_t>(m.rows + bias_gap);
    std::vector<float> out = random_values(seed, one * operands(c, m));
    for (std::size_t i = one; c.numbered && i < out.size(); ++i) out[i] = out[i - one];
    return out;
}

/// A factor of a dense member or of each of its columns, and one for each matrix that ids pick.
inline std::vector<float> factors(const matvec_case& c, const member_shape& m, float first) {
    std::vector<float> out(operands(c, m), first);
    for (std::size_t i = 1; i < out.size(); ++i) out[i] = out[i - 1] * (c.numbered ? 1 : -0.75f);
    return out;
}

inline member_data make_member(const matvec_case& c, const member_shape& m, std::uint64_t seed) {
    const bool glu = m.parts.has(epilogue_part::glu);
    member_data d;
    d.weight = random_weight(c, m, seed);
    if (glu) d.up = random_weight(c, m, seed + 100);
    if (has_scales(m)) {
        const auto count = static_cast<std::size_t>(scales_of(c, m).count()) * matrices(c, m);
        d.scale = random_values(seed + 500, count);
        if (glu) d.up_scale = random_values(seed + 600, count);
    }
    if (m.parts.has(epilogue_part::factor)) {
        d.factor = factors(c, m, product_factor);
        if (glu) d.up_factor = factors(c, m, up_factor);
    }
    if (m.parts.has(epilogue_part::bias)) {
        d.bias = biases(c, m, seed + 200);
        if (glu) d.up_bias = biases(c, m, seed + 300);
    }
    if (m.parts.has(epilogue_part::residual))
        d.residual = random_values(
            seed + 400, static_cast<std::size_t>((m.rows + residual_gap(m)) * c.columns_of(m)));
    if (m.begins) d.begun_weight = random_values(seed + 700, static_cast<std::size_t>(m.rows));
    return d;
}

inline bool has_function(const member_shape& m) {
    return m.parts.has(epilogue_part::glu) || m.parts.has(epilogue_part::act);
}

inline bool reads_fp8(const instance& on) {
    return on.computes.product().activation == format::fp8_group;
}

/// Values of which 32 have the same largest, 127 / 64: multiples of 1 / 64.
inline void make_exact(std::vector<float>& x) {
    for (std::size_t i = 0; i < x.size(); ++i)
        x[i] = i % 32 == i / 32 % 32 ? 127.0f / 64 : std::round(std::fmod(x[i] * 32, 127.0f)) / 64;
}

/// Makes values that fp8 holds exactly: the largest of 128 is 448 / 64, all are e4m3 / 64.
inline void make_exact_fp8(std::vector<float>& x) {
    for (std::size_t i = 0; i < x.size(); ++i) {
        const float v =
            i % 128 == i / 128 % 128 ? e4m3_largest : std::fmod(x[i] * 64, e4m3_largest);
        x[i] = f32_from_bits(f32_bits_from_e4m3(e4m3_from_f32_bits(f32_bits(v)))) / 64;
    }
}

/// The sums of the squares of each 32 elements.
inline std::vector<double> squares_of(const std::vector<float>& x) {
    std::vector<double> out(x.size() / 32);
    for (std::size_t i = 0; i < x.size(); ++i) out[i / 32] += double{x[i]} * double{x[i]};
    return out;
}

/// Gives the data what a launch that begins a norm of x has made.
inline void begin_norm(const matvec_case& c, matvec_data& d) {
    const std::vector<double> squares = squares_of(d.x);
    d.squares.assign(squares.begin(), squares.end());
    const std::vector<float> weight = norm_weight(c);
    for (int row = 0; row < c.x_rows(); ++row) {
        std::vector<float> padded(static_cast<std::size_t>(stored_elements(format::q8_1, c.k)));
        for (int i = 0; i < c.k; ++i)
            padded[static_cast<std::size_t>(i)] =
                d.x[static_cast<std::size_t>(row * c.k + i)] * weight[static_cast<std::size_t>(i)];
        d.rows.push_back(encode_row(format::q8_1, padded));
    }
}

inline matvec_data make_data(const instance& on, const matvec_case& c) {
    matvec_data d;
    d.x.resize(static_cast<std::size_t>(c.k * c.x_rows()));
    if (c.put != special::zeros) fill_random_values(7, 0, d.x);
    if (on.computes.kind() == skeleton::matmul && c.put != special::zeros &&
        c.put != special::any_value)
        reads_fp8(on) ? make_exact_fp8(d.x) : make_exact(d.x);
    for (float& v : d.x) v *= c.magnitude;
    for (int row = 0; row < c.x_rows() && c.outlier != 1; ++row)  // of one size: none decides alone
        for (int i = 0; i < 32; ++i)
            d.x[static_cast<std::size_t>(row * c.k + c.k / 64 * 32 + i)] =
                c.outlier * static_cast<float>(127 - 2 * i) / 64;
    if (c.put == special::nan) d.x[special_at(c)] = std::numeric_limits<float>::quiet_NaN();
    if (c.put == special::infinity) d.x[special_at(c)] = std::numeric_limits<float>::infinity();
    if (!c.x.empty()) d.x = c.x;
    if (c.ends) begin_norm(c, d);
    for (int row = 0; row < c.x_rows() && !c.ends; ++row) {
        std::vector<float> padded(d.x.begin() + row * c.k, d.x.begin() + (row + 1) * c.k);
        if (reads_fp8(on)) {
            const scaled_row as = encode_scaled(format::fp8_group, padded);
            const bytes scales = stored_scales(format::fp8_group, as.scales);
            d.rows.push_back(to_bytes(as.data));
            d.scales.insert(d.scales.end(), scales.begin(), scales.end());
            continue;
        }
        padded.resize(
            static_cast<std::size_t>(stored_elements(on.computes.product().activation, c.k)));
        d.rows.push_back(encode_row(on.computes.product().activation, padded));
    }
    for (std::size_t m = 0; m < c.members.size(); ++m)
        d.members.push_back(make_member(c, c.members[m], 100 + m));
    return d;
}

inline bool exists(const matvec_case& c, std::int32_t id) { return id >= 0 && id < c.experts; }

/// Does the launch decode its weights to bf16?
inline bool decodes(const instance& on) {
    return on.computes.product().activation == format::bf16_mma &&
           !has_float_weights(on.computes.product().weights);
}

inline std::vector<double> decoded_weight(const matvec_case& c, const member_shape& m,
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
inline std::vector<double> packed(const std::vector<float>& data, int length, int gap) {
    std::vector<double> out;
    for (std::size_t i = 0; i < data.size(); ++i)
        if (i % static_cast<std::size_t>(length + gap) < static_cast<std::size_t>(length))
            out.push_back(data[i]);
    return out;
}

/// The activation that a launch gates, in double.
inline std::vector<double> gated_activation(const instance& on, const matvec_case& c,
                                            const matvec_data& d) {
    lowered_chain chain{.name = "gated heads", .signature = "", .count = 0, .stages = {}};
    const auto then = [&chain](const stage& s) { chain.stages[chain.count++] = s; };
    if (c.norm) {
        then({.kind = stage_kind::rms_norm});
        then({.kind = stage_kind::mul_weight, .reads = operand::weight});
    }
    then({.kind = c.norm ? stage_kind::gate : stage_kind::glu, .reads = operand::gate});
    then({.kind = stage_kind::quantize, .formats = format_set::of(format::q8_1)});
    chain::inputs in;
    in.k = c.gate->k;
    in.rows = c.k / c.gate->k;
    in.eps = double{norm_eps};
    in.x.assign(d.x.begin(), d.x.end());
    in[operand::weight] = packed(norm_weight(c), c.gate->k, 0);
    in[operand::gate] = packed(gate_values_of(c), c.gate->k, c.gate->gap);
    in.gated_by = meaning_of(on, c.gate->function, clamped);
    return chain::reference(chain, in).value;
}

inline chain::inputs reference_inputs(const instance& on, const matvec_case& c,
                                      const matvec_data& d) {
    chain::inputs in;
    in.k = c.k;
    in.rows = c.x_rows();
    in.x.assign(d.x.begin(), d.x.end());
    if (c.gate)
        in.x = gated_activation(on, c, d);
    else if (c.norm || c.ends)
        in[operand::weight] = packed(norm_weight(c), c.k, 0);
    in.eps = double{norm_eps};
    in.ids = c.ids;
    for (std::int32_t& id : in.ids)
        if (!exists(c, id)) id = 0;
    if (c.combined()) in.expert_weights = packed(slot_weights(c), c.slots, 0);
    in.slots = c.slots;
    in.x_slots = c.x_slots;
    if (c.heads) turn_reference(*c.heads, in);
    for (std::size_t i = 0; i < c.members.size(); ++i) {
        const member_shape& m = c.members[i];
        const member_data& from = d.members[i];
        chain::matrix& to = in.matrices.emplace_back(chain::matrix{
            .type = m.type,
            .rows = m.rows,
            .experts = c.experts_of(m),
            .values = decoded_weight(c, m, from.weight, from.scale),
            .numbers = {.scale = m.parts.has(epilogue_part::scale) ? product_scale : 1},
            .up = decoded_weight(c, m, from.up, from.up_scale),
            .combined = m.parts.has(epilogue_part::combine),
            .gated_by = meaning_of(on, has_function(m) ? m.function : gate_function::none, clamped),
            .own = meaning_of(on, m.parts.has(epilogue_part::own) ? m.own : gate_function::none)});
        to[epilogue_part::factor] = {{from.factor.begin(), from.factor.end()},
                                     {from.up_factor.begin(), from.up_factor.end()}};
        to[epilogue_part::bias] = {packed(from.bias, m.rows, bias_gap),
                                   packed(from.up_bias, m.rows, bias_gap)};
        if (c.heads && c.heads->values[i].turned) to.head = c.heads->values[i].k;
        if (c.heads) to.head_scale = double{c.heads->values[i].scale};
        to[epilogue_part::residual].values = packed(from.residual, m.rows, residual_gap(m));
    }
    return in;
}

inline lowered_chain chain_of(const matvec_case& c) {
    format_set dense, by_ids;
    for (const member_shape& m : c.members) {
        format_set& formats = c.experts_of(m) == 0 ? dense : by_ids;
        formats = formats | m.type;
    }
    lowered_chain chain{.name = "case", .signature = "", .count = 0, .stages = {}};
    const auto then = [&chain](const stage& s) { chain.stages[chain.count++] = s; };
    if ((c.norm && !c.gate) || c.ends) {
        then({.kind = stage_kind::rms_norm});
        then({.kind = stage_kind::mul_weight, .reads = operand::weight});
    }
    then({.kind = stage_kind::quantize, .formats = format_set::of(format::q8_1)});
    if (!dense.empty()) then({.kind = stage_kind::mul_mat, .formats = dense});
    if (!by_ids.empty()) then({.kind = stage_kind::mul_mat_id, .formats = by_ids});
    then({.kind = stage_kind::epilogue, .parts = c.parts()});
    return chain;
}

inline bool reads_columns_of_f32(const instance& on) {
    return on.computes.product().activation == format::f32;
}
/// Does the launch round its activation to the type of its weights?
inline bool rounds(const instance& on) {
    return on.computes.kind() == skeleton::matmul && reads_columns_of_f32(on);
}

inline double rounded(format weights, double v) {
    const real x{static_cast<float>(v)};
    if (weights == format::f16) return double{f32_from_f16(to_half(x))};
    if (weights == format::bf16) return double{f32_from_bf16(to_bfloat16(x))};
    return double{from_bits(to_tf32(x)).v};
}

/// The weights as tensor cores take them: decoded to bf16, or f32 rounded to tf32.
inline chain::inputs with_weights_of(const instance& on, chain::inputs in) {
    if (!decodes(on) && !rounds(on)) return in;
    for (chain::matrix& m : in.matrices)
        for (std::vector<double>* all : {&m.values, &m.up})
            for (double& v : *all) v = rounded(decodes(on) ? format::bf16 : format::f32, v);
    return in;
}

/// The rows as a skeleton reads them: one after the other, of fp8 with all scales behind them, or
/// the same block of all rows together.
inline bytes laid_out(const instance& on, const matvec_data& d) {
    const bool rows = on.computes.kind() == skeleton::matvec || rounds(on) || reads_fp8(on);
    const std::size_t bytes_of_row = d.rows.front().size();
    const std::size_t piece =
        rows ? bytes_of_row
             : static_cast<std::size_t>(info(on.computes.product().activation).block_bytes);
    bytes out;
    for (std::size_t at = 0; at < bytes_of_row; at += piece)
        for (const bytes& row : d.rows) {
            out.insert(out.end(), row.begin() + static_cast<std::ptrdiff_t>(at),
                       row.begin() + static_cast<std::ptrdiff_t>(at + piece));
            if (reads_columns_of_f32(on)) out.resize(out.size() + column_gap, untouched);
        }
    out.insert(out.end(), d.scales.begin(), d.scales.end());
    return out;
}

/// True when every product of that output column must be NaN; `alone`: of a slot, not of their sum.
inline bool column_is_nan(const matvec_case& c, const member_shape& m, int column,
                          bool alone = false) {
    if (c.combined() && !alone) {
        bool any = false;
        for (int i = column * c.slots; i < (column + 1) * c.slots; ++i)
            any = any || column_is_nan(c, m, i, true);
        return any;
    }
    const bool by_ids = c.experts_of(m) != 0;
    if (by_ids && !exists(c, c.ids[static_cast<std::size_t>(column)])) return true;
    if (c.put != special::nan && c.put != special::infinity) return false;
    const int token = column / c.slots, slot = column % c.slots;
    const int x_row = !by_ids ? column : token * c.x_slots + (c.x_slots == 1 ? 0 : slot);
    return x_row == c.x_rows() - 1;
}

}  // namespace catena_test
