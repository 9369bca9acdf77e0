// Refused with: catena: rms_norm and glu each make the value of a chain: remove one, or write two chains
#include "violation.hpp"

CATENA_USE(glu | rms_norm | emit<f32>)
