// Refused with: catena: store<F...> writes heads: put it first, or behind rms_norm, mul(weight) and
// rope, once, and before emit<F>
#include "violation.hpp"

CATENA_WRITE(rope | store<f16> | store<q8_0>)
