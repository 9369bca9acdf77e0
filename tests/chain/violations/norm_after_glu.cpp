// Refused with: catena: a norm and glu each make the value of a chain: put glu behind the norm to
// gate it, or write two chains
#include "violation.hpp"

CATENA_WRITE(glu | rms_norm | emit<f32>)
