// Refused with: catena: store<> names no format: write store<f16>
#include "violation.hpp"

CATENA_WRITE(rope | store<>)
