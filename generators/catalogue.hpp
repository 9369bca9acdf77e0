// The catalogue: the chains that Catena ships instances for, one entry a line. To add one, add its
// line and regenerate (cmake --build BUILD --target regenerate).
#pragma once

#include "catena/chain/catalogue.hpp"

namespace catena::catalogue {

using namespace catena::chain;

/// Matrices of these formats, dense or by expert: a norm in a model with experts feeds both kinds.
template <format... Ws>
inline constexpr auto readers = group<mul_mat<Ws>..., mul_mat_id<Ws>...>;

/// What becomes of the products in the same launch, as far as a matrix has operands for it.
inline constexpr auto finish =
    epilogue<mul(scale), mul(factor), add(bias), glu, act, combine, add(residual), quantize<q8_1>>;

/// Whatever reads an activation: q8_1 for few columns, the layouts of a matmul for many.
template <format... Ws>
inline constexpr auto activation =
    quantize<q8_1, q8_1_mmq_d4, q8_1_mmq_ds4, q8_1_mmq_d2s6, bf16_mma, f16_mma> | readers<Ws...> |
    finish;

/// The same for a value that others read in a plain format.
inline constexpr auto plain_value = emit<f32> | emit<f16> | emit<bf16>;
template <format... Ws>
inline constexpr auto value = plain_value | activation<Ws...>;

/// Weights that are numbers read a value's f32, routers of models with experts beside quantized
/// ones; tiles by warpgroups read a copy that is rounded to their type, which the rows above write.
template <format... Ws>
inline constexpr auto multiplied = readers<Ws...> | finish;
template <format... Ws>
inline constexpr auto value_of_numbers = plain_value | multiplied<Ws...>;

/// What stands before a norm: a residual, whose sum with x or a multiple of x goes on in f32.
inline constexpr auto residual_sum = mul(scale) | add(residual) | emit<f32>;

/// Before the first norm of some models: a multiple of x.
inline constexpr auto scaled_x = mul(scale) | emit<f32>;

/// What stands before the norm of a layer behind one with experts.
inline constexpr auto experts_sum = combine | residual_sum;

/// Where a norm stands behind a matrix, the residual is added to it. The sum goes on, and to a
/// norm.
inline constexpr auto joined_sum = rms_norm | mul(weight) | add(residual) | emit<f32>;

/// The chains whose result goes on as `value`; `as_is` reads what somebody else made.
constexpr auto chains_to(auto value, auto as_is) {
    return hana::make_tuple(
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
        entry<"residual_layer_norm_input">(residual_sum | layer_norm | mul(weight) | add(bias) |
                                           value),
        entry<"gated_input">(glu | value), entry<"activated_input">(act | value),
        entry<"activation">(as_is));
}

/// The chains whose result feeds matrices of these formats, quantized or numbers.
template <format... Ws>
inline constexpr auto chains_of = chains_to(value<Ws...>, activation<Ws...>);
template <format... Ws>
inline constexpr auto chains_of_numbers = chains_to(value_of_numbers<Ws...>, multiplied<Ws...>);

/// Weights of fp8 read a value's f32 for few columns and fp8 for many, which the rows write that
/// make formats of other engines; those have no gate behind a norm.
inline constexpr auto quantized_as_fp8 = quantize<fp8_group> | multiplied<fp8_e4m3>;
inline constexpr auto fp8_value = plain_value | quantized_as_fp8;
inline constexpr auto chains_of_fp8 = hana::make_tuple(
    entry<"norm_input">(rms_norm | mul(weight) | fp8_value),
    entry<"scaled_norm_input">(scaled_x | rms_norm | mul(weight) | fp8_value),
    entry<"residual_norm_input">(residual_sum | rms_norm | mul(weight) | fp8_value),
    entry<"layer_norm_input">(layer_norm | mul(weight) | add(bias) | fp8_value),
    entry<"residual_layer_norm_input">(residual_sum | layer_norm | mul(weight) | add(bias) |
                                       fp8_value),
    entry<"gated_input">(glu | fp8_value), entry<"activation">(quantized_as_fp8));

/// What engines with matmuls of their own read, its scales in a tensor beside it.
inline constexpr auto engine_value =
    emit<f32> | emit<f16> | emit<bf16> |
    quantize<int8_token, fp8_tensor, fp8_token, fp8_group, mxfp8_rows, mxfp4_rows, nvfp4_rows>;

/// The chains that end before the matmul.
inline constexpr auto engine_chains = hana::make_tuple(
    entry<"engine_norm">(residual_sum | rms_norm | mul(one_plus_weight) | add(bias) | engine_value),
    entry<"engine_layer_norm">(residual_sum | layer_norm | mul(weight) | add(bias) | engine_value),
    entry<"engine_gated">(glu | engine_value), entry<"engine_quantize">(engine_value),
    entry<"l2_norm">(l2_norm | emit<f32>));

/// Every format alone, and the sets that share an activation in the files that people use: a
/// quantizer often gives V a wider type than Q and K.
// clang-format off
inline constexpr auto entries = hana::flatten(hana::make_tuple(
    chains_of<q8_0>, chains_of<q4_0>, chains_of<q4_1>, chains_of<q5_0>, chains_of<q5_1>,
    chains_of<q2_K>, chains_of<q3_K>, chains_of<q4_K>, chains_of<q5_K>, chains_of<q6_K>,
    chains_of<iq4_nl>, chains_of<iq4_xs>, chains_of<mxfp4>, chains_of<nvfp4>,
    chains_of<iq2_xxs>, chains_of<iq2_xs>, chains_of<iq2_s>, chains_of<iq3_xxs>, chains_of<iq3_s>,
    chains_of<iq1_s>, chains_of<iq1_m>,
    chains_of<q1_0>, chains_of<q2_0>, chains_of<tq1_0>, chains_of<tq2_0>,
    chains_of<q4_K, q6_K>, chains_of<q4_K, q5_K>, chains_of<q5_K, q6_K>, chains_of<q3_K, q5_K>,
    chains_of<q5_0, q8_0>,
    chains_of_numbers<f16>, chains_of_numbers<bf16>, chains_of_numbers<f32>,
    chains_of_fp8,
    engine_chains));
// clang-format on

}  // namespace catena::catalogue
