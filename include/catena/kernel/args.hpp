// The arguments of the skeletons: plain structs, passed by value to the kernel. Pointers are
// addresses on the executor's device. Sizes are elements, strides bytes, unless said otherwise.
#pragma once

#include "catena/chain/lowered.hpp"
#include "catena/chain/rotation.hpp"
#include "catena/chain/routing.hpp"
#include "catena/config.hpp"
#include "catena/format/rows.hpp"

#include <cstdint>

namespace CATENA_NAMESPACE {

/// An activation whose scales lie apart: data [k, rows], scales [k / scale_group, rows], both
/// without gaps. data is 4-byte aligned; scales are of `row_args::scale_type`, of the mx and nv
/// formats e8m0 and e4m3. fp8_tensor has none: its one scale is given.
struct scaled_output {
    void* data = nullptr;
    void* scales = nullptr;
};

/// What a row adds up of a token's experts, slot after slot: results times weights; then x, which a
/// shared expert made, times sigmoid(gate).
struct expert_results {
    const float* results = nullptr;                 ///< [k, slots, rows], unit element stride
    const float* weights = nullptr;                 ///< [slots, rows]; null: each is 1
    const float* gate = nullptr;                    ///< [rows]; null: x is not times anything
    std::int64_t nb1 = 0, nb2 = 0;                  ///< of results: slot to slot, row to row
    std::int64_t weights_nb1 = 0, weights_nb2 = 0;  ///< the same of weights
    std::int64_t gate_nb = 0;                       ///< row to row
    std::int32_t slots = 0;
};

/// Skeleton `row`. Null pointers switch a part off: residual, sum, its factor, weight, bias, the
/// gate of a norm, the second norm, each emit, and with experts x. x is [k, n1, n2, n3] f32 with
/// unit element stride; weights and bias are [k] f32, shared by all rows.
struct row_args : row_params {
    const float* x = nullptr;
    const float* gate = nullptr;      ///< stage_kind::glu: the value is function(gate) * x, and
                                      ///< function(gate) alone without x; else what a norm is times
    expert_results experts;           ///< in place of x, which may be null then
    const float* residual = nullptr;  ///< added to x before the norm, or to the weighted norm where
                                      ///< the computation joins them
    const float* weight = nullptr;
    const float* bias = nullptr;
    const float* next_weight = nullptr;  ///< of the norm of what was joined; null: it is not normed
    const float* sum_factor = nullptr;   ///< what was joined is times that number; null: 1
    float* sum = nullptr;                ///< receives what a norm reads, x * x_scale + residual,
                                         ///< or what was joined
    float* f32 = nullptr;
    void* f16 = nullptr;
    void* bf16 = nullptr;
    void* q8_1 = nullptr;          ///< rows of quant_k elements, see below
    void* q8_1_mmq_d4 = nullptr;   ///< the same values for a matmul: [row][block of 128] becomes
    void* q8_1_mmq_ds4 = nullptr;  ///< [block of 128][row], its header d[4] or (d, sum)[4]
    void* bf16_mma = nullptr;      ///< [block of 64][row], rounded to bf16,
    void* f16_mma = nullptr;       ///< or to f16
    scaled_output int8_token, fp8_tensor, fp8_token, fp8_group, mxfp8, mxfp4, nvfp4;
    std::int32_t* int8_sums = nullptr;   ///< int8_token: receives the sum of each row's data
    const float* fp8_scale = nullptr;    ///< fp8_tensor: value = *fp8_scale * data
    const float* nvfp4_scale = nullptr;  ///< nvfp4: value = *nvfp4_scale * scale * data
    row_strides x_at, gate_at, residual_at, sum_at, f32_at, f16_at, bf16_at;
    std::int32_t k = 0;     ///< elements of a norm row
    std::int32_t rows = 0;  ///< n1 * n2 * n3
    std::int32_t n1 = 1, n2 = 1;
    std::int32_t quant_k = 0;  ///< q8_1 and the layouts of a matmul: elements of an activation row:
                               ///< a multiple or a divisor of k, both multiples of 32 (a norm row
                               ///< is not always a quantize row)
    std::int32_t quant_blocks = 0;  ///< q8_1 blocks from one activation row to the next; those past
                                    ///< quant_k / 32 are written as zeros
    format scale_type = format::f32;  ///< f32, f16 or bf16
    bool one_plus_weight = false;     ///< the norm is times 1 + weight
    bool weight_early = false;  ///< weights never change: they may be read before the grid wait
};

/// Where row_args holds an operand: its address and, if it has rows of its own, their strides.
using row_address_field = const float* row_args::*;
using row_strides_field = row_strides row_args::*;
struct row_operand_field {
    operand which;
    row_address_field data;
    row_strides_field at;
};
inline constexpr row_operand_field row_operand_fields[] = {
    {operand::x, &row_args::x, &row_args::x_at},
    {operand::residual, &row_args::residual, &row_args::residual_at},
    {operand::gate, &row_args::gate, &row_args::gate_at},
    {operand::weight, &row_args::weight, nullptr},
    {operand::bias, &row_args::bias, nullptr},
    {operand::next_weight, &row_args::next_weight, nullptr},
    {operand::factor, &row_args::sum_factor, nullptr}};

/// Heads of one value, [k, heads, tokens], such as those of Q. What is done to each of them, in
/// this order: a norm, times a weight; a turn; times a number; written as f32 and into a cache.
struct head_member {
    const float* x = nullptr;       ///< unit element stride
    const float* weight = nullptr;  ///< [k], never written; null: each is 1
    float* f32 = nullptr;
    void* cache = nullptr;              ///< [k * heads, cache_rows] of cache_type
    const void* cache_ids = nullptr;    ///< [tokens], i64 or i32: the row of each token. Of tokens
                                        ///< with the same row the last is stored; one whose row
                                        ///< is outside is not
    std::int64_t x_nb1 = 0, x_nb2 = 0;  ///< head to head, token to token
    std::int64_t f32_nb1 = 0, f32_nb2 = 0;  ///< the same
    std::int64_t cache_nb = 0;              ///< row to row
    std::int32_t k = 0, heads = 0;
    std::int32_t first_row = 0;  ///< prefix sum of the heads of all tokens of the members before
    std::int32_t cache_rows = 0;
    float eps = 0;
    float scale = 1;
    format cache_type = format::unknown;  ///< one of cache_formats; of q8_0 and q4_0 k is a
                                          ///< multiple of 32
    bool ids_of_64_bits = false;
    bool normed = false, turned = false;
};

/// Skeleton `row` of a computation with heads: each head has a warp to itself.
struct heads_args {
    const std::int32_t* positions = nullptr;  ///< [tokens], or [tokens, 4] of a turn with sections
    const float* factors = nullptr;           ///< [turn.dims / 2]; null: each is 1
    rotation turn;                            ///< of all members that are turned
    std::int32_t members = 0;
    std::int32_t tokens = 0;
    std::int32_t rows = 0;  ///< heads of all tokens of all members
    head_member member[max_head_members];
};

/// Skeleton `row` of a routing: each token has a block to itself.
struct route_args {
    const float* x = nullptr;     ///< [experts, tokens], unit element stride
    const float* bias = nullptr;  ///< [experts], of their choice; null: each is 0
    std::int32_t* ids = nullptr;  ///< [experts, tokens]: of a token all experts, the best first
    float* weights = nullptr;     ///< [numbers.chosen, tokens]
    std::int64_t x_nb = 0, ids_nb = 0, weights_nb = 0;  ///< token to token
    routing_numbers numbers;
    std::int32_t experts = 0;
    std::int32_t tokens = 0;
};

/// One matrix of a group. weight is [k, rows] (dense) or [k, rows, experts] (expert). Weights are
/// 2-byte aligned, as every block struct is; a policy that copies by `async` or `bulk` wants 16
/// bytes.
struct matvec_member {
    const void* weight = nullptr;
    float* dst = nullptr;      ///< dense: [rows, columns]; expert: [rows, slots, tokens]; null: the
                               ///< result is only quantized
    const void* up = nullptr;  ///< epilogue glu: a matrix like weight; result = f(weight) * up
    const float* factor = nullptr;     ///< times weight's product: one number, or one an expert
    const float* up_factor = nullptr;  ///< the same for `up`; null if factor is
    const float* bias = nullptr;       ///< [rows], of experts [rows, experts]
    const float* up_bias = nullptr;    ///< the same for `up`; null if bias is
    const float* residual = nullptr;   ///< of the result's shape, rows next to each other
    void* q8_1 = nullptr;              ///< the result in rows of `rows` elements, padded with zeros
    void* q8_1_mmq_d4 = nullptr;       ///< of a matmul: the same in the layouts that matmuls read,
    void* q8_1_mmq_ds4 = nullptr;      ///< [block of 128][column],
    void* bf16_mma = nullptr;          ///< or [block of 64][column],
    void* f16_mma = nullptr;           ///< rounded to their type
    std::int64_t weight_bytes = 0;     ///< of the whole tensor: nothing past it is read
    std::int64_t row_bytes = 0;        ///< from one weight row to the next
    std::int64_t expert_bytes = 0;     ///< from one expert to the next
    std::int64_t dst_nb1 = 0;          ///< dense: column to column; expert: slot to slot
    std::int64_t dst_nb2 = 0;          ///< expert: token to token; combined: alone counts
    std::int64_t bias_nb1 = 0;         ///< by ids: expert to expert, of both biases
    std::int64_t residual_nb1 = 0;     ///< as dst_nb1
    std::int64_t residual_nb2 = 0;     ///< as dst_nb2
    const float* weight_scale = nullptr;  ///< fp8: [experts][rows / scale_rows, rounded up]
    const float* up_scale = nullptr;      ///< [k / scale_values, rounded up]; of `up` the same;
                                          ///< null: values are what they are
    std::int32_t factor_step = 0;         ///< by ids: 1 if each has a factor, of both factors
    float scale = 1;                      ///< of weight's product, before factor and bias
    float alpha = 0, limit = 0;  ///< gate_function::swiglu_oai; the numbers of an own function
    std::int32_t rows = 0;
    std::int32_t first_band = 0;  ///< prefix sum of the bands of the members before
    std::int32_t experts = 0;     ///< expert: matrices in the tensor; an id outside 0 .. experts-1
                                  ///< makes its column of dst NaN
    std::int32_t scale_rows = 1, scale_values = 1;  ///< fp8: that share a scale; of values a
                                                    ///< multiple of 8, of a matmul of 128
    std::int32_t scale_stride = 0;  ///< fp8: scales from one group of rows to the next
    std::int32_t scales = 0;        ///< fp8: of a matrix, from one expert to the next
    format type = format::unknown;
    gate_function function = gate_function::none;  ///< epilogue glu; act: without `up`
    own_call own;                                  ///< epilogue own
};

/// Where the scale of a value lies among the member's.
CATENA_FN constexpr std::int64_t scale_index(const matvec_member& m, int expert, int row,
                                             int value) {
    const auto down = static_cast<unsigned>(row) / static_cast<unsigned>(m.scale_rows);
    const auto along = static_cast<unsigned>(value) / static_cast<unsigned>(m.scale_values);
    return std::int64_t{expert} * m.scales + static_cast<int>(down) * m.scale_stride +
           static_cast<int>(along);
}

/// Skeleton `matvec`: dst = weight^T x per member, for 1 to policy.columns columns.
/// Dense (no member has experts): the columns are the activation rows 0 .. columns-1.
/// The result then passes the epilogue of its member: times scale and factor, plus bias, gated or
/// f(it), plus residual (which may lie exactly under dst), written as f32 and as q8_1 (whose rows
/// are the columns: token * slots + slot). Expert (ids [slots, tokens] i32): each (slot, token) is
/// a column of its own; it reads matrix ids[slot, token] and the activation row token * x_slots +
/// (x_slots == 1 ? 0 : slot). Without ids (null) matrices are tokens' in turns: token i has
/// matrix i % experts, and x_slots is slots. Behind the members that ids pick may stand dense ones
/// (experts = 0), where there is one token and x_slots is 1: a shared expert, which reads that
/// activation row too. Combined (of a policy of one column, all members by ids): each token is a
/// column of its own. Its slots' results, past their function and times their weights, are added up
/// in the order of the slots; dst and residual are then [rows, tokens].
struct matvec_args {
    const void* x = nullptr;  ///< q8_1 rows of q8_1_row_bytes(k) at least, padding included;
                              ///< 16-byte aligned, and so is x_bytes
                              ///< where every block makes the activation (policy.placement,
                              ///< dense only): f32 rows of k, aligned so too
    const float* norm_weight = nullptr;  ///< [k]: that is rms_norm(x) * norm_weight; null: x itself
    /// norm_placement::passing, one column: receives that norm, and as q8_1, padded with zeros; a
    /// block behind those of all bands writes.
    float* norm_f32 = nullptr;
    void* norm_q8_1 = nullptr;
    float eps = 0;  ///< of that norm
    const std::int32_t* ids = nullptr;
    std::int64_t x_bytes = 0;  ///< from one activation row to the next
    std::int64_t ids_nb1 = 0;  ///< token to token
    std::int32_t k = 0;
    std::int32_t columns = 0;  ///< dense: columns; expert: slots * tokens; combined: tokens
    std::int32_t slots = 1;    ///< expert: matrices used per token; combined: as many at
                               ///< most as the policy adds up
    std::int32_t x_slots = 1;  ///< expert: activation rows per token, 1 or slots
    bool combined = false;     ///< expert: a token's results are added up, slot after slot
    /// Combined: [slots, tokens] without gaps; null: each is 1.
    const float* slot_weights = nullptr;
    std::int32_t band_rows = 0;  ///< weight rows of a band, the work of one block or of a cluster
                                 ///< of 2, 4 or 8: even if there is a GLU, a band of what is
                                 ///< quantized gives a multiple of 32
    std::int32_t members = 0;
    std::int32_t bands = 0;      ///< of all members; expert: per column, of those that ids pick
    bool weights_early = false;  ///< no weight ever changes: it may be read before the wait
    /// A policy that routes sends its one token to experts so. Then `ids` has them afterwards: a
    /// block before those of all bands writes experts and weights, and the others find theirs.
    route_args routing;
    matvec_member member[max_members];
};

/// Skeleton `matmul`: the same as `matvec` for any number of columns. A block computes a tile of
/// one member's rows (`first_band` counts tiles) and policy.columns columns; of experts, the rows
/// of one matrix for all columns whose id picks it, tile after tile of columns. The epilogue is
/// that of a matvec, but for the layouts in which the result is quantized.
/// x is [block][row] of one of matmul_layouts(), rows padded with zeros; f32 of numbers is rows of
/// k, a multiple of 32; of fp8 [row][k] e4m3, k a multiple of 128, and behind them their scales,
/// [row][k / 128] f32. Dense: row i is column i.
struct matmul_args {
    const void* x = nullptr;  ///< 16-byte aligned, and so is x_bytes
    const std::int32_t* ids = nullptr;
    std::int64_t x_bytes = 0;  ///< of numbers, fp8 too: from one activation row to the next
    std::int64_t ids_nb1 = 0;  ///< token to token
    std::int32_t k = 0;
    std::int32_t x_rows = 0;   ///< activation rows: dense: columns; expert: tokens * x_slots
    std::int32_t columns = 0;  ///< dense: columns; expert: slots * tokens
    std::int32_t slots = 1;    ///< expert: matrices used per token
    std::int32_t x_slots = 1;  ///< expert: activation rows per token, 1 or slots
    std::int32_t experts = 0;  ///< expert: the most matrices of a member, without ids the tokens;
                               ///< 0: dense
    std::int32_t members = 0;
    std::int32_t tiles = 0;  ///< row tiles of all members
    matvec_member member[max_members];
};

/// Where a row, or a member of a group, is told to write an activation in a layout that has one
/// address. Every list of these layouts reads this one.
template <class Args>
using layout_address_field = void* Args::*;
template <class Args>
struct layout_field {
    format layout;
    layout_address_field<Args> to;
};
template <class Args>
inline constexpr layout_field<Args> layout_fields[] = {{format::q8_1, &Args::q8_1},
                                                       {format::q8_1_mmq_d4, &Args::q8_1_mmq_d4},
                                                       {format::q8_1_mmq_ds4, &Args::q8_1_mmq_ds4},
                                                       {format::bf16_mma, &Args::bf16_mma},
                                                       {format::f16_mma, &Args::f16_mma}};

/// Has it members of several matrices? They stand in front of dense ones.
CATENA_FN constexpr bool has_experts(const matvec_args& a) { return a.member[0].experts > 0; }
CATENA_FN constexpr bool has_experts(const matmul_args& a) { return a.experts > 0; }

/// Rows of the result in one band of the member: a GLU reads two weight rows for each.
CATENA_FN constexpr std::int32_t band_results(const matvec_args& a, const matvec_member& m) {
    return a.band_rows >> (m.up != nullptr ? 1 : 0);
}

}  // namespace CATENA_NAMESPACE
