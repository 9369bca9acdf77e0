// The catalogue: the chains that Catena ships instances for, and the weight formats that share a
// launch. To add one, add its line and regenerate (cmake --build BUILD --target catena_regenerate).
#pragma once

#include "catena/chain/catalogue.hpp"

namespace catena::catalogue {

using namespace catena::chain;

/// Matrices of these formats, dense or by expert: a norm in a model with experts feeds both kinds.
template <format... Ws>
inline constexpr auto matrices = group<mul_mat<Ws...>, mul_mat_id<Ws...>>;

/// All formats that a chain's matrices may have, but fp8.
// clang-format off
inline constexpr auto readers = matrices<
    q8_0, q4_0, q4_1, q5_0, q5_1, q2_K, q3_K, q4_K, q5_K, q6_K, iq4_nl, iq4_xs, mxfp4, nvfp4,
    iq2_xxs, iq2_xs, iq2_s, iq3_xxs, iq3_s, iq1_s, iq1_m, q1_0, q2_0, tq1_0, tq2_0,
    f16, bf16, f32>;
// clang-format on

/// What becomes of the products in the same launch, as far as a matrix has operands for it.
inline constexpr auto finish =
    epilogue<mul(scale), mul(factor), add(bias), glu, act, combine, add(residual), quantize<q8_1>>;

/// What becomes of the products of experts that their own launch chooses. Each format is a kernel
/// more, so the chain has those that most people's gates are in.
inline constexpr auto finish_routed =
    epilogue<mul(scale), mul(factor), add(bias), glu, act, add(residual), quantize<q8_1>>;

/// Whatever reads an activation: q8_1 for few columns, the layouts of a matmul for many; tiles by
/// warpgroups read a copy that is rounded to bf16 or f16.
inline constexpr auto activation =
    quantize<q8_1, q8_1_mmq_d4, q8_1_mmq_ds4, bf16_mma, f16_mma> | readers | finish;

/// A value that others read in a plain format, too: float weights, such as the routers of models
/// with experts, read its f32 beside matrices that read it quantized.
inline constexpr auto plain_value = emit<f32> | emit<f16> | emit<bf16>;
inline constexpr auto value = plain_value | activation;

/// Weights of fp8 read a value's f32 for few columns and fp8 for many, which the rows write that
/// make formats of other engines.
inline constexpr auto fp8_activation = quantize<fp8_group> | matrices<fp8_e4m3> | finish;
inline constexpr auto fp8_value = plain_value | fp8_activation;

/// What stands before a norm: a residual, whose sum with x or a multiple of x goes on in f32.
inline constexpr auto residual_sum = mul(scale) | add(residual) | emit<f32>;

/// Before the first norm of some models: a multiple of x.
inline constexpr auto scaled_x = mul(scale) | emit<f32>;

/// What stands before the norm of a layer behind one with experts.
inline constexpr auto experts_sum = combine | residual_sum;

/// Where a norm stands behind a matrix, the residual is added to it. The sum goes on, and to a
/// norm.
inline constexpr auto joined_sum = rms_norm | mul(weight) | add(residual) | emit<f32>;

/// Matrices whose results are heads on their way to attention, which no norm is before. Their
/// launch makes the norm that they read. As with norms inside, there are kernels for what most
/// files have.
inline constexpr auto matrices_of_heads =
    quantize<q8_1> | mul_mat<q8_0, q4_K, q6_K> | epilogue<add(bias), turned_heads>;

/// Heads on their way to attention: those of Q stay, those of K and V go into a cache. What a value
/// has no operands for is left out.
inline constexpr auto attention_heads =
    rms_norm | mul(weight) | rope | store<f32, f16, bf16, q8_0, q4_0> | emit<f32>;

/// Attention of few tokens, with the heads on their way to it.
inline constexpr auto attended_heads = rms_norm | mul(weight) | rope | store<f16> | attend |
                                       emit<f32> | quantize<q8_1> | readers | finish;

/// What a convolution makes of the tokens of a sequence, such as Q, K and V on their way to linear
/// attention: each value as it is, and heads normed.
inline constexpr auto convolved_heads = convolve | emit<f32> | rms_norm | emit<f32>;

/// What linear attention by the gated delta rule recalls from its state.
inline constexpr auto recalled_heads = delta_rule | emit<f32>;

/// What the state space of a sequence (Mamba-2) makes of its tokens.
inline constexpr auto scanned_heads = ssm_scan | emit<f32>;

/// What engines with matmuls of their own read, its scales in a tensor beside it.
inline constexpr auto engine_value =
    emit<f32> | emit<f16> | emit<bf16> |
    quantize<int8_token, fp8_tensor, fp8_token, fp8_group, mxfp8_rows, mxfp4_rows, nvfp4_rows>;

/// The chains, one a line. Of fp8 none has a gate behind a norm; those of engines end before the
/// matmul. The launches at the end are shared because a quantizer often gives V a wider type than Q
/// and K.
// clang-format off
inline constexpr auto entries = hana::make_tuple(
    entry<"norm_input">(rms_norm | mul(weight) | value),
    entry<"bare_norm_input">(rms_norm | value),
    entry<"scaled_norm_input">(scaled_x | rms_norm | mul(weight) | value),
    entry<"residual_norm_input">(residual_sum | rms_norm | mul(weight) | value),
    entry<"experts_norm_input">(experts_sum | rms_norm | mul(weight) | value),
    entry<"norm_residual_input">(rms_norm | mul(weight) | add(residual) | value),
    entry<"norm_residual_norm_input">(joined_sum | rms_norm | mul(next_weight) | value),
    entry<"gated_norm_input">(rms_norm | mul(weight) | glu | value),
    entry<"gated_bare_norm_input">(rms_norm | glu | value),
    entry<"bare_layer_norm_input">(layer_norm | value),
    entry<"scaled_layer_norm_input">(layer_norm | mul(weight) | value),
    entry<"residual_scaled_layer_norm_input">(residual_sum | layer_norm | mul(weight) | value),
    entry<"layer_norm_input">(layer_norm | mul(weight) | add(bias) | value),
    entry<"residual_layer_norm_input">(residual_sum | layer_norm | mul(weight) | add(bias) | value),
    entry<"gated_input">(glu | value),
    entry<"activated_input">(act | value),
    entry<"activation">(activation),

    entry<"norm_input.fp8">(rms_norm | mul(weight) | fp8_value),
    entry<"scaled_norm_input.fp8">(scaled_x | rms_norm | mul(weight) | fp8_value),
    entry<"residual_norm_input.fp8">(residual_sum | rms_norm | mul(weight) | fp8_value),
    entry<"layer_norm_input.fp8">(layer_norm | mul(weight) | add(bias) | fp8_value),
    entry<"residual_layer_norm_input.fp8">(residual_sum | layer_norm | mul(weight) | add(bias) | fp8_value),
    entry<"gated_input.fp8">(glu | fp8_value),
    entry<"activation.fp8">(fp8_activation),

    entry<"engine_norm">(residual_sum | rms_norm | mul(one_plus_weight) | add(bias) | engine_value),
    entry<"engine_layer_norm">(residual_sum | layer_norm | mul(weight) | add(bias) | engine_value),
    entry<"engine_gated">(glu | engine_value),
    entry<"engine_quantize">(engine_value),
    entry<"l2_norm">(l2_norm | emit<f32>),
    entry<"attention_heads">(attention_heads),
    entry<"attended_heads">(attended_heads),
    entry<"convolved_heads">(convolved_heads),
    entry<"recalled_heads">(recalled_heads),
    entry<"scanned_heads">(scanned_heads),
    entry<"turned_heads">(rms_norm | mul(weight) | matrices_of_heads),
    entry<"routing">(score | choose | weigh | emit<f32>),
    entry<"routed_experts">(score | choose | weigh | emit<f32> | mul_mat_id<q4_K, mxfp4> | finish_routed),

    shared_launch<q4_K, q6_K>, shared_launch<q4_K, q5_K>, shared_launch<q5_K, q6_K>,
    shared_launch<q3_K, q5_K>, shared_launch<q5_0, q8_0>);
// clang-format on

}  // namespace catena::catalogue
