// Refused with: catena: quantize<F> takes an activation format, such as q8_1: for a plain format
// write emit<F>
#include "violation.hpp"

CATENA_WRITE(rms_norm | quantize<f16> | mul_mat<q4_K>)
