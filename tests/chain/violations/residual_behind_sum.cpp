// Refused with: catena: add(residual) comes once, first, right behind combine or mul(scale), or
// right after the norm and its mul(weight): move it there
#include "violation.hpp"

CATENA_WRITE(mul(scale) | emit<f32> | add(residual) | rms_norm | emit<f32>)
