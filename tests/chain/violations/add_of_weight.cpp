// Refused with: catena: add takes residual or bias: write add(residual) or add(bias)
#include "violation.hpp"

CATENA_USE(add(weight) | rms_norm | emit<f32>)
