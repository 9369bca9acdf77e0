// Refused with: catena: mul_mat<W> of float weights reads f32: put emit<f32> before it
#include "violation.hpp"

CATENA_WRITE(rms_norm | quantize<q8_1> | group<mul_mat<q4_K>, mul_mat<f32>>)
