// Chains with places for these ops: own behind a norm and its weight, act and own behind a matrix.
#include "catena/catena.hpp"

namespace my_ops {
using namespace catena::chain;
using enum catena::format;

inline constexpr auto value = quantize<q8_1, q8_1_mmq_ds4> | group<mul_mat<q4_K>> |
                              epilogue<add(bias), glu, act, own, quantize<q8_1>>;
inline constexpr auto catalogue =
    hana::make_tuple(entry<"bounded_norm_input">(rms_norm | mul(weight) | own | emit<f32> | value),
                     entry<"activated_input">(act | emit<f32> | value));
}  // namespace my_ops
