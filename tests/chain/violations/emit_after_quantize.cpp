// Refused with: catena: emit<F> writes values: put it before quantize<F>
#include "violation.hpp"

CATENA_WRITE(rms_norm | quantize<q8_1> | emit<f32> | mul_mat<q4_K>)
