// Refused with: catena: ssm_scan reads values that are made: put it first
#include "violation.hpp"

CATENA_WRITE(rms_norm | ssm_scan)
