// Refused with: catena: the sum x + residual is emitted in f32: write add(residual) | emit<f32>
#include "violation.hpp"

CATENA_WRITE(add(residual) | emit<f16> | rms_norm | emit<f32>)
