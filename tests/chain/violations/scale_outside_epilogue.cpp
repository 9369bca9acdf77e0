// Refused with: catena: mul(scale) scales the outputs of a matrix: put it into epilogue<mul(scale)> behind the group
#include "violation.hpp"

CATENA_USE(rms_norm | mul(scale) | emit<f32>)
