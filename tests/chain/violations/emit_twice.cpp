// Refused with: catena: emit<F> stands twice with the same format: remove one
#include "violation.hpp"

CATENA_WRITE(rms_norm | emit<f32> | emit<f32>)
