// Refused with: catena: delta_rule makes heads, which emit<f32> writes
#include "violation.hpp"

CATENA_WRITE(delta_rule | rms_norm)
