// Refused with: catena: mul_mat<W> and mul_mat_id<W> take a weight format, such as q4_K
#include "violation.hpp"

CATENA_USE(quantize<q8_1> | mul_mat<f32>)
