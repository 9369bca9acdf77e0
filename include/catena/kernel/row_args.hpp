// The arguments of a launch that works on the rows of a tensor, and which of their fields holds
// which operand or output. What args.hpp says of all arguments holds here.
#pragma once

#include "catena/chain/lowered.hpp"
#include "catena/config.hpp"
#include "catena/format/rows.hpp"

#include <cstdint>

namespace CATENA_NAMESPACE {

/// An activation whose scales have an array of their own. Rows lie next to each other in both
/// arrays.
struct scaled_output {
    void* data = nullptr;    ///< values [k, rows], 4-byte aligned; null: the format is not written
    void* scales = nullptr;  ///< [k / scale_group(format, k), rows]: e8m0 for mxfp8 and mxfp4, e4m3
                             ///< for nvfp4, else row_args::scale_type; null for fp8_tensor, whose
                             ///< one scale is an input
};

/// The results of a token's experts, which a row adds up in the order of the slots: each result is
/// multiplied with its weight. Then row_args::x, which a shared expert made, is multiplied with
/// sigmoid(gate) and added. All tokens are rows of the first dimension: n1 equals rows.
struct expert_results {
    const float* results = nullptr;  ///< [k, slots, rows], unit element stride; null: only x
    const float* weights = nullptr;  ///< [slots, rows], one number each; null: each is 1
    const float* gate = nullptr;     ///< [rows], one number each; null: x is added as it is
    std::int64_t nb1 = 0, nb2 = 0;   ///< bytes of results: slot to slot, row to row
    std::int64_t weights_nb1 = 0, weights_nb2 = 0;  ///< bytes of weights: slot to slot, row to row
    std::int64_t gate_nb = 0;                       ///< bytes of gate: row to row
    std::int32_t slots = 0;                         ///< results that a row adds up
};

/// The arguments of the skeleton `row` for rows of a tensor. The value of a row starts as x or as
/// the sum of experts, and passes the stages of the instance in their order (chain/stage.hpp). A
/// stage whose operand is null is left out. Tensors are f32 unless a field says otherwise.
struct row_args : row_params {
    const float* x = nullptr;     ///< [k, n1, n2, n3], unit element stride; null if the value is a
                                  ///< sum of experts without a shared one, or f(gate) alone
    const float* gate = nullptr;  ///< [k, n1, n2, n3]: stage glu makes f(gate) * x, stage gate
                                  ///< multiplies what a norm made with f(gate); null: no gate
    expert_results experts;       ///< the experts that stage combine adds up
    const float* residual = nullptr;  ///< [k, n1, n2, n3]: added to x before the norm
                                      ///< (add_residual) or to the weighted norm (join_residual);
                                      ///< null: nothing is added
    const float* weight = nullptr;    ///< [k], weight of the norm; null: each is 1
    const float* bias = nullptr;      ///< [k], added to the weighted norm; null: each is 0
    const float* next_weight = nullptr;  ///< [k], weight of the second norm, whose input is the
                                         ///< joined sum; null: there is no second norm
    const float* sum_factor = nullptr;   ///< one number, multiplied with the joined sum; null: 1
    float* sum = nullptr;  ///< [k, n1, n2, n3], receives the sum that a norm reads: x * x_scale +
                           ///< residual, or the joined sum; null: not written
    float* f32 = nullptr;  ///< [k, n1, n2, n3], receives the value; null: not written
    void* f16 = nullptr;   ///< the value as f16, of the same shape; null: not written
    void* bf16 = nullptr;  ///< the value as bf16, of the same shape; null: not written
    void* q8_1 = nullptr;  ///< the value in blocks, row after row; null: not written
    void* q8_1_mmq_d4 = nullptr;   ///< the value as [block of 128][row], four scales d in front of
                                   ///< a block; null: not written
    void* q8_1_mmq_ds4 = nullptr;  ///< the same layout, four pairs (d, sum) in front of a block;
                                   ///< null: not written
    void* bf16_mma = nullptr;      ///< the value as bf16, [block of 64][row]; null: not written
    void* f16_mma = nullptr;       ///< the value as f16, [block of 64][row]; null: not written
    scaled_output int8_token, fp8_tensor, fp8_token, fp8_group, mxfp8, mxfp4, nvfp4;
    std::int32_t* int8_sums = nullptr;   ///< [rows], receives the sum of each row of int8_token;
                                         ///< null: not written
    const float* fp8_scale = nullptr;    ///< one number, the scale of fp8_tensor: value = scale *
                                         ///< data; null if fp8_tensor is not written
    const float* nvfp4_scale = nullptr;  ///< one number, the tensor's scale of nvfp4: value =
                                         ///< nvfp4_scale * scale * data; null without nvfp4
    row_strides x_at, gate_at, residual_at, sum_at, f32_at, f16_at, bf16_at;
    std::int32_t k = 0;           ///< elements of a row
    std::int32_t rows = 0;        ///< n1 * n2 * n3
    std::int32_t n1 = 1, n2 = 1;  ///< rows of the first and of the second dimension
    std::int32_t quant_k = 0;     ///< elements of an activation row of q8_1 and of the layouts of a
                                  ///< matmul: a multiple or a divisor of k, both multiples of 32 (a
                                  ///< row of a norm is not always a row of a matmul)
    std::int32_t quant_blocks = 0;    ///< q8_1 blocks from one activation row to the next; blocks
                                      ///< behind the first quant_k / 32 are written as zeros
    format scale_type = format::f32;  ///< type of the scales of int8_token, fp8_token and
                                      ///< fp8_group: f32, f16 or bf16
    bool one_plus_weight = false;     ///< the norm is multiplied with 1 + weight
    bool weight_early = false;  ///< weight and next_weight never change: they may be read before
                                ///< the grid wait
};

// The lists of operands and outputs. The checks of a launch by hand, problems, costs, plans, the
// proof and benchmarks go over them, so none of these can forget one.

/// What an operand is: a tensor of the shape of x, a vector that all rows share, or one number.
enum class operand_shape : std::uint8_t { rows, vector, number };

using row_address_field = const float* row_args::*;
using row_strides_field = row_strides row_args::*;
struct row_operand_field {
    operand which;
    const char* name;  ///< name of the field that has its address
    operand_shape shape;
    stage_set read_by;  ///< the stages that read it; empty: it is what a row starts from
    row_address_field data;
    row_strides_field at = nullptr;  ///< its strides; null unless its shape is `rows`
    bool optional = false;           ///< it may be null although a stage reads it
};
inline constexpr row_operand_field row_operand_fields[] = {
    {operand::x, "x", operand_shape::rows, {}, &row_args::x, &row_args::x_at, true},
    {operand::residual, "residual", operand_shape::rows, residual_stages, &row_args::residual,
     &row_args::residual_at},
    {operand::gate, "gate", operand_shape::rows, gate_stages, &row_args::gate, &row_args::gate_at},
    {operand::weight, "weight", operand_shape::vector, stage_set::of(stage_kind::mul_weight),
     &row_args::weight},
    {operand::bias, "bias", operand_shape::vector, stage_set::of(stage_kind::add_bias),
     &row_args::bias},
    {operand::next_weight, "next_weight", operand_shape::vector,
     stage_set::of(stage_kind::mul_next_weight), &row_args::next_weight},
    {operand::factor, "sum_factor", operand_shape::number, stage_set::of(stage_kind::join_residual),
     &row_args::sum_factor, nullptr, true}};

/// The operands of a shape that the stages read.
constexpr int operands_read(stage_set stages, operand_shape shape) {
    int count = 0;
    for (const row_operand_field& f : row_operand_fields)
        if (f.shape == shape && stages.any(f.read_by)) ++count;
    return count;
}

/// Calls visit(format, address, strides) for each output that has rows of its own.
template <class Args, class Visit>
constexpr void each_plain_output(Args& a, Visit visit) {
    visit(format::f32, a.f32, a.f32_at);
    visit(format::f16, a.f16, a.f16_at);
    visit(format::bf16, a.bf16, a.bf16_at);
}

/// The outputs whose scales lie apart.
using scaled_address_field = scaled_output row_args::*;
struct scaled_output_field {
    format type;
    const char* name;  ///< name of the field
    scaled_address_field to;
    row_address_field scale = nullptr;  ///< the one scale that is given for it; null: none is
    const char* scale_name = "";        ///< name of that field
};
inline constexpr scaled_output_field scaled_output_fields[] = {
    {format::int8_token, "int8_token", &row_args::int8_token},
    {format::fp8_tensor, "fp8_tensor", &row_args::fp8_tensor, &row_args::fp8_scale, "fp8_scale"},
    {format::fp8_token, "fp8_token", &row_args::fp8_token},
    {format::fp8_group, "fp8_group", &row_args::fp8_group},
    {format::mxfp8_rows, "mxfp8", &row_args::mxfp8},
    {format::mxfp4_rows, "mxfp4", &row_args::mxfp4},
    {format::nvfp4_rows, "nvfp4", &row_args::nvfp4, &row_args::nvfp4_scale, "nvfp4_scale"}};

/// The outputs in the layouts of ggml's activations and of matmuls, which have one address. A row
/// and a member of a group (matvec_member) write them.
template <class Args>
using layout_address_field = void* Args::*;
template <class Args>
struct layout_field {
    format type;
    layout_address_field<Args> to;
};
template <class Args>
inline constexpr layout_field<Args> layout_fields[] = {{format::q8_1, &Args::q8_1},
                                                       {format::q8_1_mmq_d4, &Args::q8_1_mmq_d4},
                                                       {format::q8_1_mmq_ds4, &Args::q8_1_mmq_ds4},
                                                       {format::bf16_mma, &Args::bf16_mma},
                                                       {format::f16_mma, &Args::f16_mma}};

namespace detail {

template <class Field, int N>
constexpr format_set formats_of(const Field (&fields)[N]) {
    format_set all;
    for (const Field& f : fields) all = all | f.type;
    return all;
}

}  // namespace detail

/// The activations that lie in blocks, with their scales.
inline constexpr format_set layout_formats = detail::formats_of(layout_fields<row_args>);
/// The activations whose scales lie apart.
inline constexpr format_set scaled_formats = detail::formats_of(scaled_output_fields);

namespace detail {

constexpr bool each_activation_has_an_output() {
    const format_set outputs = layout_formats | scaled_formats;
    for (int i = 0; i < format_count; ++i) {
        const auto f = static_cast<format>(i);
        if (info(f).role == format_role::activation && !outputs.has(f)) return false;
    }
    return true;
}
static_assert(each_activation_has_an_output(),
              "an activation format has no output: give row_args a field for it, and list that");

}  // namespace detail

}  // namespace CATENA_NAMESPACE
