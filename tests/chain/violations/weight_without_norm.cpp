// Refused with: catena: mul(weight) scales the result of a norm: put it right after rms_norm,
// layer_norm or l2_norm
#include "violation.hpp"

CATENA_WRITE(mul(weight) | emit<f32>)
