// Refused with: catena: the launch that chooses experts does not add them up: put combine behind
// the matrices that come last
#include "violation.hpp"

CATENA_WRITE(choose | emit<f32> | mul_mat_id<q4_K> | epilogue<glu, combine>)
