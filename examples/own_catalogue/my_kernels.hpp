// A catalogue with a chain that Catena's own lacks: a layer norm of a multiple of x, bounded.
#include "catena/catena.hpp"

namespace my_kernels {
using namespace catena::chain;
using enum catena::format;

inline constexpr auto catalogue = hana::make_tuple(
    entry<"scaled_layer_norm_input">(mul(scale) | emit<f32> | layer_norm | mul(weight) | add(bias) |
                                     own | emit<f32> | quantize<q8_1> | group<mul_mat<q4_K, q6_K>>),
    shared_launch<q4_K, q6_K>);
}  // namespace my_kernels
