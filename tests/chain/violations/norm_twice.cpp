// Refused with: catena: a norm comes once, before mul(weight), add(bias), emit<F> and quantize<F>:
// move it forward or remove it
#include "violation.hpp"

CATENA_WRITE(rms_norm | rms_norm | emit<f32>)
