// Refused with: catena: delta_rule reads values that are made: put it first
#include "violation.hpp"

CATENA_WRITE(rms_norm | delta_rule)
