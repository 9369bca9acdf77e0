// Refused with: catena: act makes the value of a chain from x: put it first
#include "violation.hpp"

CATENA_WRITE(rms_norm | act | emit<f32>)
