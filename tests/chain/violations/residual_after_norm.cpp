// Refused with: catena: add(residual) comes once, first, right behind combine or mul(scale), or
// right after the norm and its mul(weight): move it there
#include "violation.hpp"

CATENA_WRITE(rms_norm | add(residual) | emit<f32>)
