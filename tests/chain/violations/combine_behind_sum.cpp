// Refused with: catena: combine makes the value of a chain: put it first
#include "violation.hpp"

CATENA_WRITE(add(residual) | combine | rms_norm | emit<f32>)
