// Refused with: catena: store<F...> writes what caches hold: f32, f16, bf16, q8_0 or q4_0
#include "violation.hpp"

CATENA_WRITE(rope | store<f16, q4_K>)
