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
    epilogue<mul(scale), add(bias), glu, add(residual), quantize<q8_1>>;

/// Whatever reads an activation: q8_1 for few columns, the layouts of a matmul for many.
template <format... Ws>
inline constexpr auto activation =
    quantize<q8_1, q8_1_mmq_d4, q8_1_mmq_ds4> | readers<Ws...> | finish;

/// The same for a value that others read in a plain format.
template <format... Ws>
inline constexpr auto value = emit<f32> | emit<f16> | emit<bf16> | activation<Ws...>;

/// A norm whose result feeds quantized matmuls, and others that read it in a plain format.
template <format... Ws>
inline constexpr auto norm_input = rms_norm | mul(weight) | value<Ws...>;

/// The same behind a residual add, whose sum goes on in f32.
template <format... Ws>
inline constexpr auto residual_norm_input = add(residual) | emit<f32> | norm_input<Ws...>;

/// A gated value: of a feed-forward layer, of an attention's or a state's output.
template <format... Ws>
inline constexpr auto gated_input = glu | value<Ws...>;

/// The chains of one set of formats.
template <format... Ws>
inline constexpr auto chains_of = hana::make_tuple(
    entry<"norm_input">(norm_input<Ws...>),
    entry<"residual_norm_input">(residual_norm_input<Ws...>),
    entry<"gated_input">(gated_input<Ws...>),
    entry<"activation">(activation<Ws...>));

/// Every format alone, and the sets that share an activation in the files that people use: a quantizer
/// often gives V a wider type than Q and K.
// clang-format off
inline constexpr auto entries = hana::flatten(hana::make_tuple(
    chains_of<q8_0>, chains_of<q4_0>, chains_of<q4_K>, chains_of<q6_K>, chains_of<q4_K, q6_K>));
// clang-format on

}  // namespace catena::catalogue
