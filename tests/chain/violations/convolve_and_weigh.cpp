// Refused with: catena: convolve makes heads: rms_norm norms them, and emit<f32> writes them
#include "violation.hpp"

CATENA_WRITE(convolve | rms_norm | mul(weight))
