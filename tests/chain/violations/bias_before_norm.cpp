// Refused with: catena: add(bias) shifts a normed value: put it right after the norm or mul(weight)
#include "violation.hpp"

CATENA_WRITE(add(bias) | rms_norm | emit<f32>)
