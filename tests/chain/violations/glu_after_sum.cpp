// Refused with: catena: glu makes the value of a chain from x and the gate, or gates a norm: put it
// first, or right behind the norm, mul(weight) or add(bias)
#include "violation.hpp"

CATENA_WRITE(add(residual) | glu | emit<f32>)
