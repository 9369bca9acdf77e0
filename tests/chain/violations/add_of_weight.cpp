// Refused with: catena: add takes residual or bias: write add(residual) or add(bias)
#include "violation.hpp"

CATENA_WRITE(add(weight) | rms_norm | emit<f32>)
