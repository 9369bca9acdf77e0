// Refused with: catena: other launches read the experts and their weights: put emit<f32> before
// mul_mat_id<W>
#include "violation.hpp"

CATENA_WRITE(choose | group<mul_mat_id<q4_K>>)
