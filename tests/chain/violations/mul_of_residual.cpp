// Refused with: catena: mul takes weight, one_plus_weight, next_weight or scale, or factor in an
// epilogue: write mul(weight)
#include "violation.hpp"

CATENA_WRITE(rms_norm | mul(residual) | emit<f32>)
