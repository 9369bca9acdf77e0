// Refused with: catena: mul_mat<W> reads an activation: put quantize<q8_1> before it
#include "violation.hpp"

CATENA_WRITE(group<mul_mat<q4_K>> | emit<f32> | mul(weight) | rms_norm)
