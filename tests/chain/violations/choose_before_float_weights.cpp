// Refused with: catena: experts that their own launch chooses read q8_1: float weights stand
// behind no choose
#include "violation.hpp"

CATENA_WRITE(score | choose | weigh | emit<f32> | mul_mat_id<q4_K, f16>)
