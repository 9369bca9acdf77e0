// Refused with: catena: attend makes heads, which emit<f32> writes, and quantize<q8_1> behind that
#include "violation.hpp"

CATENA_WRITE(rope | store<f16> | attend | quantize<q8_1>)
