// Refused with: catena: group<...> takes mul_mat<W> and mul_mat_id<W> only
#include "violation.hpp"

CATENA_WRITE(quantize<q8_1> | (group<rms_norm>))
