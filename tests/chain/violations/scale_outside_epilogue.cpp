// Refused with: catena: mul(scale) scales x or what experts made, and like mul(factor) the outputs
// of a matrix: put it first, behind combine, or into epilogue<mul(scale)> behind the group
#include "violation.hpp"

CATENA_WRITE(rms_norm | mul(scale) | emit<f32>)
