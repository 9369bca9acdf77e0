// Refused with: catena: score is of the logits of experts: put it first
#include "violation.hpp"

CATENA_WRITE(rms_norm | score)
