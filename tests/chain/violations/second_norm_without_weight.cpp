// Refused with: catena: a second norm has a weight: put mul(next_weight) right behind it
#include "violation.hpp"

CATENA_WRITE(rms_norm | mul(weight) | add(residual) | emit<f32> | rms_norm | emit<f16>)
