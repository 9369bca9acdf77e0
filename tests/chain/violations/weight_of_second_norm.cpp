// Refused with: catena: mul(next_weight) scales the second norm of a chain, mul(weight) the first:
// exchange them
#include "violation.hpp"

CATENA_WRITE(rms_norm | mul(weight) | add(residual) | emit<f32> | rms_norm | mul(weight) |
             emit<f32>)
