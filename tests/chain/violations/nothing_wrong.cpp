// The control: a chain that is right compiles.
// Accepted.
#include "violation.hpp"

CATENA_LIST(
    add(residual) | emit<f32> | rms_norm | mul(weight) | add(bias) | emit<f32> |
    quantize<q8_1, q8_1_mmq_d4> | group<mul_mat<q4_K>, mul_mat_id<q4_K>> |
    epilogue<mul(scale), mul(factor), add(bias), glu, act, combine, add(residual), quantize<q8_1>>)
