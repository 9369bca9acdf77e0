// Refused with: catena: mul_mat<W> and mul_mat_id<W> take a weight format, such as q4_K, or f32,
// f16 or bf16
#include "violation.hpp"

CATENA_WRITE(quantize<q8_1> | mul_mat<i32>)
