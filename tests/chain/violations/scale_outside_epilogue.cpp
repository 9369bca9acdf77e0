// Refused with: catena: mul(scale) and mul(factor) scale the outputs of a matrix: put them into
// epilogue<mul(scale)> behind the group
#include "violation.hpp"

CATENA_WRITE(rms_norm | mul(scale) | emit<f32>)
