// Refused with: catena: own applies an engine's own op to a finished value: put it behind a norm
// and what follows the norm, or behind glu or act
#include "violation.hpp"

CATENA_WRITE(own | emit<f32>)
