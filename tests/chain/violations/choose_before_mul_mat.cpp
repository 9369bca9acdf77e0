// Refused with: catena: behind choose stand the matrices of experts: write mul_mat_id<W>
#include "violation.hpp"

CATENA_WRITE(score | choose | weigh | emit<f32> | mul_mat<q4_K>)
