// Refused with: catena: mul_mat<W> of numbers reads f32: write it in a chain without quantize<F>
#include "violation.hpp"

CATENA_WRITE(emit<f32> | quantize<q8_1> | group<mul_mat<q4_K>, mul_mat<f32>>)
