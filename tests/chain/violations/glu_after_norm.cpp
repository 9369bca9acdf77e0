// Refused with: catena: glu makes the value of a chain from x and the gate: put it first, in place of add(residual) and rms_norm
#include "violation.hpp"

CATENA_USE(rms_norm | glu | emit<f32>)
