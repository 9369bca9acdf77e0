// Refused with: catena: ssm_scan makes heads, which emit<f32> writes
#include "violation.hpp"

CATENA_WRITE(ssm_scan | rms_norm)
