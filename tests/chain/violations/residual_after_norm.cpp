// Refused with: catena: add(residual) comes first: move it to the front of the chain
#include "violation.hpp"

CATENA_USE(rms_norm | add(residual) | emit<f32>)
