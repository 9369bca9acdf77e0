// Refused with: catena: add(residual) comes once, first, right behind combine or mul(scale), or
// right after the norm and its mul(weight): move it there
#include "violation.hpp"

CATENA_WRITE(add(residual) | emit<f32> | rms_norm | mul(weight) | add(residual) | emit<f32>)
