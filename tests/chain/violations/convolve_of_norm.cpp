// Refused with: catena: convolve reads what a matrix made: put it first
#include "violation.hpp"

CATENA_WRITE(rms_norm | convolve)
