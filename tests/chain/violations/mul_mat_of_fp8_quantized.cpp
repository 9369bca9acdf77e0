// Refused with: catena: mul_mat<fp8_e4m3> reads f32 or fp8: put quantize<fp8_group> before it
#include "violation.hpp"

CATENA_WRITE(emit<f32> | quantize<q8_1> | group<mul_mat<fp8_e4m3>>)
